// Starting and stopping a process.
import { ServiceBroker } from "moleculer";
import { type Assembled, assemble } from "../moleculer.config.ts";
import { announce } from "./announce.ts";
import { complain, fail } from "./fail.ts";
import { loadServices } from "./load-services.ts";
import { openDoor } from "../operators/local-socket.ts";
import { readConfig } from "./settings/config.ts";
import { stopMsMax } from "../services/shared/drain.ts";
import { StartError } from "../services/shared/start-error.ts";
import { Stopping } from "./stopping.ts";

export async function main(): Promise<void> {
  try {
    await start();
  } catch (error) {
    fail(error, process.env);
  }
}

async function start(): Promise<void> {
  const config = readConfig(process.env);
  const assembled = assemble(config, (reason) => {
    complain(new StartError(reason), config.production);
    stopping.fail();
  });
  const broker = new ServiceBroker(assembled.options);
  let closeDoor = async (): Promise<void> => {};
  const close = async () => {
    await closeDoor();
    await closeAll(broker, assembled);
  };
  const stopping = new Stopping({
    close,
    exit: (code) => process.exit(code),
    stopMsMax: stopMsMax(config),
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stopping.signal());
  // A closed terminal takes no more text; that is no reason to leave the database running.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  await loadServices(broker, config.services);
  try {
    await broker.start();
  } catch (error) {
    // A start that is stopped fails by that.
    if (stopping.hasBegun) return;
    await close();
    throw error;
  }
  if (stopping.hasBegun) return;
  closeDoor = await openDoor(broker, assembled.runtime);
  announce(broker, assembled.runtime, assembled.signIns);
}

async function closeAll(broker: ServiceBroker, { runtime, flushLog }: Assembled): Promise<void> {
  runtime.phases.stopping();
  await broker.stop();
  await runtime.close();
  flushLog();
}

// Starts and stops a process.
import { ServiceBroker } from "moleculer";
import { type Assembled, assemble } from "../moleculer.config.ts";
import { announce } from "./announce.ts";
import { printFailure, fail } from "./fail.ts";
import { loadServices } from "./load-services.ts";
import { openLocalSocket } from "../operators/local-socket.ts";
import { readConfig } from "./settings/config.ts";
import { stopMsMax } from "../services/shared/drain.ts";
import { StartError } from "../services/shared/start-error.ts";
import { Stopping } from "./stopping.ts";

/** Runs the process until it is stopped. A failed start exits with 1. */
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
    printFailure(new StartError(reason), config.production);
    stopping.fail();
  });
  const broker = new ServiceBroker(assembled.options);
  let closeLocalSocket = async (): Promise<void> => {};
  const close = async () => {
    await closeLocalSocket();
    await closeAll(broker, assembled);
  };
  const stopping = new Stopping({
    close,
    exit: (code) => process.exit(code),
    stopMsMax: stopMsMax(config),
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stopping.signal());
  // After the terminal was closed writing fails; that must not stop the orderly shutdown of the database.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  await loadServices(broker, config.services);
  try {
    await broker.start();
  } catch (error) {
    // A start that is interrupted by a stop fails; that is expected.
    if (stopping.hasBegun) return;
    await close();
    throw error;
  }
  if (stopping.hasBegun) return;
  closeLocalSocket = await openLocalSocket(broker, assembled.runtime);
  announce(broker, assembled.runtime, assembled.signIns);
}

async function closeAll(broker: ServiceBroker, { runtime, flushLog }: Assembled): Promise<void> {
  runtime.phases.stopping();
  await broker.stop();
  await runtime.close();
  flushLog();
}

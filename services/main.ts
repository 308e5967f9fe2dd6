// Starting and stopping a process.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ServiceBroker } from "moleculer";
import { type Assembled, assemble } from "../moleculer.config.ts";
import { announce } from "./announce.ts";
import { complain, fail } from "./fail.ts";
import { openDoor } from "./repl/door.ts";
import { readConfig } from "./shared/config.ts";
import { stopMsMax } from "./shared/drain.ts";
import { StartError } from "./shared/embedded/start-error.ts";
import { Stopping } from "./stopping.ts";

const folder = import.meta.dirname;
const inEveryProcess = "node";

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

/** @param wanted names of service folders, or undefined for all */
async function loadServices(broker: ServiceBroker, wanted: readonly string[] | undefined): Promise<void> {
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => file.endsWith(".service.ts"))
    .sort();
  const folders = new Set(files.map((file) => file.split("/")[0] ?? ""));
  const strangers = (wanted ?? []).filter((name) => !folders.has(name));
  if (strangers.length > 0) {
    throw new StartError(
      `SERVICES names ${strangers.join(", ")}; there are ${[...folders].sort().join(", ")}.`,
    );
  }
  for (const file of files) {
    const service = file.split("/")[0] ?? "";
    if (service !== inEveryProcess && wanted?.includes(service) === false) continue;
    // Without any other it would make a process that does nothing.
    if (service === inEveryProcess && wanted?.length === 0) continue;
    const { default: schema } = await import(join(folder, file));
    broker.createService(schema);
  }
}

async function closeAll(broker: ServiceBroker, { runtime, flushLog }: Assembled): Promise<void> {
  runtime.phases.stopping();
  await broker.stop();
  await runtime.close();
  flushLog();
}

// Starting and stopping a process.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ServiceBroker } from "moleculer";
import { type Assembled, assemble } from "../moleculer.config.ts";
import { announce } from "./announce.ts";
import { backupReplCommand } from "./backup-commands.ts";
import { fail } from "./fail.ts";
import { readConfig } from "./shared/config.ts";
import { StartError } from "./shared/embedded/start-error.ts";

const stopMsMax = 30_000;
const folder = import.meta.dirname;

export async function main(withRepl: boolean): Promise<void> {
  try {
    await start(withRepl);
  } catch (error) {
    fail(error);
  }
}

async function start(withRepl: boolean): Promise<void> {
  const config = readConfig(process.env);
  let stop: (exitCode: number) => void = () => {};
  const assembled = assemble(config, (reason) => {
    process.stderr.write(`${reason}\n`);
    stop(1);
  });
  const broker = new ServiceBroker(assembled.options);
  stop = stopper(broker, assembled);
  process.on("SIGINT", () => stop(0));
  process.on("SIGTERM", () => stop(0));
  await loadServices(broker, config.services);
  try {
    await broker.start();
    announce(broker, assembled.runtime, assembled.signIns);
  } catch (error) {
    await broker.stop();
    await assembled.runtime.close();
    assembled.flushLog();
    throw error;
  }
  if (withRepl) {
    broker.options.replOptions = { customCommands: [backupReplCommand] };
    broker.repl();
  }
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
    if (wanted?.includes(file.split("/")[0] ?? "") === false) continue;
    const { default: schema } = await import(join(folder, file));
    broker.createService(schema);
  }
}

/** The first signal stops in order; a second one, or half a minute, ends the process as it is. */
function stopper(broker: ServiceBroker, { runtime, flushLog }: Assembled): (exitCode: number) => void {
  let stopping = false;
  return (exitCode) => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), stopMsMax).unref();
    void broker
      .stop()
      .then(() => runtime.close())
      .finally(() => {
        flushLog();
        process.exit(exitCode);
      });
  };
}

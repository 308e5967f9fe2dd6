/**
 * The thread that moves the bytes of archives: PostgreSQL, compression, encryption and the store are all on this side, so
 * that nothing but progress crosses. Its heap is small, and cleaning it takes milliseconds; in the service's own, each 30 MB
 * of buffers began a collection of everything, for which all requests waited.
 */
import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { backupsFolder, FolderStore } from "../../../mixins/store/folder-store.ts";
import type { Store } from "../../../mixins/store/store.ts";
import { type FromThread, factsOf, type ThreadSettings, type ToThread } from "./across.ts";
import { movingHere } from "./here.ts";
import type { Moved } from "./moving.ts";
import { Pace } from "./pace.ts";

const niceSteps = 5;
/** What it tells is written every few seconds. */
const tellEveryMs = 200;

// On Linux this is about the calling thread; elsewhere it would slow the whole process.
if (process.platform === "linux") {
  try {
    setPriority(Math.min(19, getPriority() + niceSteps));
  } catch {
    // A sandbox may forbid the call; the work is the same without it.
  }
}

// Given by who starts it: see moving-thread.ts.
const { databaseUrl, store } = workerData as ThreadSettings;
const pace = new Pace();
const moving = openStore().then((opened) => movingHere(opened, databaseUrl, pace));
const running = new Map<number, AbortController>();
const say = (message: FromThread) => parentPort?.postMessage(message);

parentPort?.on("message", (message: ToThread) => {
  if ("giveWay" in message) pace.giveWay(message.giveWay);
  else if ("abort" in message) running.get(message.id)?.abort(new Error("it is not wanted any more"));
  else void work(message);
});

/** The client of S3 is half of what this thread would load. */
async function openStore(): Promise<Store> {
  if (store.s3Endpoint === undefined) return new FolderStore(backupsFolder(store.dataDir));
  return (await import("../../../mixins/store/store-of.ts")).openStore(store);
}

async function work({ id, task, given }: Extract<ToThread, { task: unknown }>): Promise<void> {
  const ending = new AbortController();
  running.set(id, ending);
  let toldAt = 0;
  const tell = (moved: Moved) => {
    if (performance.now() - toldAt < tellEveryMs) return;
    toldAt = performance.now();
    say({ id, moved });
  };
  try {
    // `given` fits the task: both come from one call of the same interface.
    const run = (await moving)[task] as (...all: unknown[]) => Promise<unknown>;
    say({ id, result: await run(...given, tell, ending.signal) });
  } catch (error) {
    say({ id, failure: factsOf(error) });
  } finally {
    running.delete(id);
  }
}

// The bytes of archives, moved by a thread: one per process, for all its jobs and plans together. It starts with the first
// work, ends when nobody has needed it for a while, and what it holds in memory ends with it. When it dies, what ran in it
// fails as what is away does: the job is tried again, in a new one.
import { type ResourceLimits, Worker } from "node:worker_threads";
import { pause } from "../../shared/pause.ts";
import { JobFailed } from "../job-failed.ts";
import { errorFrom, type FromThread, type Task, type ThreadSettings, type ToThread } from "./across.ts";
import type { Moved, Moving, Tell } from "./moving.ts";
import { Serving } from "./serving.ts";

const idleMsMax = 60_000;
/** What was told to end says so within this, or the thread is ended. */
const endMsMax = 15_000;
/** While the process stops. */
const closeMsMax = 5_000;
const lookEveryMs = 250;
/** Jobs and plans are bounded themselves, to less. */
const tasksMax = 16;
const limits: ResourceLimits = {
  maxOldGenerationSizeMb: 96,
  maxYoungGenerationSizeMb: 2,
  codeRangeSizeMb: 16,
};

interface Running {
  ended: Promise<void>;
  worker: Worker;
  tell: Tell;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export class MovingThread implements Moving {
  readonly #settings: ThreadSettings;
  readonly #environment: Record<string, string>;
  readonly #callsForOthers: () => number;
  readonly #running = new Map<number, Running>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #last = 0;
  #closed = false;

  /**
   * @param environment all that the thread has of the process's own
   * @param callsForOthers how many the process has been asked for since it began
   */
  constructor(
    settings: ThreadSettings,
    environment: Record<string, string>,
    callsForOthers: () => number = () => 0,
  ) {
    this.#settings = settings;
    this.#environment = environment;
    this.#callsForOthers = callsForOthers;
  }

  /** Whether there is one at this moment. */
  get isUp(): boolean {
    return this.#worker !== undefined;
  }

  readonly write = this.#asked("write");
  readonly check = this.#asked("check");
  readonly layOut = this.#asked("layOut");
  readonly plan = this.#asked("plan");
  readonly prove = this.#asked("prove");

  /** Ends the thread, once what was told to end has taken back what it had half written; what still runs then fails. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    const late = new AbortController();
    const running = [...this.#running.values()].map(({ ended }) => ended);
    await Promise.race([Promise.all(running), pause(closeMsMax, late.signal)]);
    late.abort();
    await this.#worker?.terminate();
  }

  #asked<T extends Task>(task: T): Moving[T] {
    const ask = (...all: unknown[]) => {
      const given = all.slice(0, -2);
      const [tell, signal] = all.slice(-2) as [Tell, AbortSignal];
      return this.#run(task, given, tell, signal);
    };
    // Arguments and result are those of the interface: the thread calls the same one with them.
    return ask as unknown as Moving[T];
  }

  async #run(task: Task, given: unknown[], tell: Tell, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    if (this.#closed || this.#running.size >= tasksMax) throw new JobFailed("thread_lost");
    const worker = (this.#worker ??= this.#start());
    clearTimeout(this.#idle);
    worker.ref();
    this.#looking ??= this.#look();
    const id = ++this.#last;
    const ended = Promise.withResolvers<void>();
    let late: NodeJS.Timeout | undefined;
    const abort = () => {
      post(worker, { id, abort: true });
      late = setTimeout(() => this.#end(worker), endMsMax);
    };
    try {
      return await new Promise<unknown>((resolve, reject) => {
        this.#running.set(id, { ended: ended.promise, worker, tell, resolve, reject });
        signal.addEventListener("abort", abort, { once: true });
        post(worker, { id, task, given });
      });
    } catch (error) {
      // The thread knows that it was told to end, but not why.
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(late);
      signal.removeEventListener("abort", abort);
      this.#running.delete(id);
      ended.resolve();
      if (this.#running.size === 0) this.#rest(worker);
    }
  }

  /** While something runs: it gives way to whoever is served. */
  #look(): NodeJS.Timeout {
    const serving = new Serving(() => ({ atMs: performance.now(), calls: this.#callsForOthers() }));
    return setInterval(() => {
      if (this.#worker !== undefined) post(this.#worker, { giveWay: serving.isBusy() });
    }, lookEveryMs).unref();
  }

  #start(): Worker {
    const worker = new Worker(new URL("./thread.ts", import.meta.url), {
      name: "archives",
      env: this.#environment,
      execArgv: [],
      workerData: this.#settings,
      resourceLimits: limits,
    });
    worker.on("message", (message: FromThread) => this.#take(message));
    // "exit" follows every "error"; the listener only keeps the error from ending the process.
    let cause: Error | undefined;
    worker.on("error", (error: Error) => (cause = error));
    worker.on("exit", () => this.#lose(worker, cause));
    return worker;
  }

  #take(message: FromThread): void {
    const running = this.#running.get(message.id);
    if ("moved" in message) running?.tell(message.moved satisfies Moved);
    else if ("result" in message) running?.resolve(message.result);
    else running?.reject(errorFrom(message.failure));
  }

  #lose(worker: Worker, cause: Error | undefined): void {
    if (this.#worker === worker) this.#worker = undefined;
    for (const running of this.#running.values())
      if (running.worker === worker) running.reject(new JobFailed("thread_lost", { cause }));
  }

  /** Whoever comes meanwhile gets another one. */
  #end(worker: Worker): void {
    if (this.#worker === worker) this.#worker = undefined;
    void worker.terminate();
  }

  #rest(worker: Worker): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
    worker.unref();
    if (this.#worker !== worker) return;
    this.#idle = setTimeout(() => this.#end(worker), idleMsMax);
    this.#idle.unref();
  }
}

function post(worker: Worker, message: ToThread): void {
  worker.postMessage(message);
}

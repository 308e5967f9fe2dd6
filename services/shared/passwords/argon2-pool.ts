/**
 * A fixed number of threads that run argon2, with a bounded queue. The threads start with the first
 * job or with `start()`, are replaced when they die (a few times a minute at most), and do not keep the process
 * alive while idle.
 */
import { Worker } from "node:worker_threads";
import type { Cost } from "./phc.ts";

export interface Derivation extends Cost {
  readonly password: string;
  readonly salt: Uint8Array<ArrayBuffer>;
  readonly tagBytes: number;
}

export interface PoolOptions {
  /** Threads, at least 1. */
  readonly workers: number;
  /** Jobs that may wait besides the running ones. */
  readonly queueMax: number;
}

/** The queue is full; the caller may try again in a few seconds. */
export class PasswordQueueFull extends Error {
  override readonly name = "PasswordQueueFull";
}

/** The thread died, none could be started, or the pool was closed. The password was not checked. */
export class PasswordWorkerLost extends Error {
  override readonly name = "PasswordWorkerLost";
}

interface Job {
  readonly derivation: Derivation;
  readonly resolve: (tag: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

interface Slot {
  readonly worker: Worker;
  job: Job | undefined;
}

const spareStartsPerMinute = 5;

/** The threads and the queue. One instance per process. */
export class Argon2Pool {
  readonly #options: PoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #waiting: Job[] = [];
  #startedAtMs: number[] = [];
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Jobs that wait or run. */
  get depth(): number {
    return this.#waiting.length + [...this.#slots].filter(({ job }) => job).length;
  }

  /** Starts all threads before the first job. */
  start(): void {
    while (this.#openSlot());
  }

  /**
   * @returns the tag of a password
   * @throws PasswordQueueFull at once, PasswordWorkerLost
   */
  derive(derivation: Derivation): Promise<Uint8Array> {
    if (this.#closed) return Promise.reject(new PasswordWorkerLost("the password threads are closed"));
    if (this.#waiting.length >= this.#options.queueMax && !this.#hasFreeSlot())
      return Promise.reject(new PasswordQueueFull(`${this.#waiting.length} password checks are waiting`));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ derivation, resolve, reject });
      this.#assignJobs();
    });
  }

  /** Ends the threads; waiting and running jobs are rejected. Call it when no request is in flight any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#rejectWaiting("the password threads are closed");
    await Promise.all([...this.#slots].map(({ worker }) => worker.terminate()));
  }

  #hasFreeSlot(): boolean {
    return this.#slots.size < this.#options.workers || [...this.#slots].some(({ job }) => !job);
  }

  #assignJobs(): void {
    while (this.#waiting.length > 0) {
      const slot = [...this.#slots].find(({ job }) => !job) ?? this.#openSlot();
      if (!slot) break;
      const job = this.#waiting.shift();
      slot.job = job;
      slot.worker.ref();
      slot.worker.postMessage(job?.derivation);
    }
    if (this.#slots.size === 0) this.#rejectWaiting("no password thread could be started");
  }

  /** Starts a thread, unless all run already or too many were started within the last minute. */
  #openSlot(): Slot | undefined {
    const nowMs = performance.now();
    this.#startedAtMs = this.#startedAtMs.filter((atMs) => nowMs - atMs < 60_000);
    const startsMax = this.#options.workers + spareStartsPerMinute;
    if (this.#closed || this.#slots.size >= this.#options.workers || this.#startedAtMs.length >= startsMax)
      return undefined;
    this.#startedAtMs.push(nowMs);
    // Without environment variables: the thread needs no secret of this process.
    const worker = new Worker(new URL("./argon2-worker.ts", import.meta.url), {
      name: "argon2",
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4, codeRangeSizeMb: 16 },
    });
    const slot: Slot = { worker, job: undefined };
    this.#slots.add(slot);
    worker.on("message", (tag: Uint8Array) => this.#finish(slot, tag));
    // "exit" follows every "error"; without this listener the error would end the process.
    let cause = "it exited";
    worker.on("error", (error) => (cause = error.message));
    worker.on("exit", () => this.#removeSlot(slot, cause));
    worker.unref();
    return slot;
  }

  #finish(slot: Slot, tag: Uint8Array): void {
    const job = slot.job;
    slot.job = undefined;
    slot.worker.unref();
    job?.resolve(tag);
    this.#assignJobs();
  }

  #removeSlot(slot: Slot, cause: string): void {
    this.#slots.delete(slot);
    slot.job?.reject(new PasswordWorkerLost(`a password thread was lost: ${cause}`));
    this.#assignJobs();
  }

  #rejectWaiting(reason: string): void {
    for (const job of this.#waiting.splice(0)) job.reject(new PasswordWorkerLost(reason));
  }
}

/**
 * A fixed number of threads that run argon2, with a bounded queue before them. The threads start with the first
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
  /** Jobs that may wait beside those that run. */
  readonly queueMax: number;
}

/** More password checks wait than may; try again in a few seconds. */
export class PasswordQueueFull extends Error {
  override readonly name = "PasswordQueueFull";
}

/** The thread died, none could be started, or the pool was closed; nothing is known about the password. */
export class PasswordWorkerLost extends Error {
  override readonly name = "PasswordWorkerLost";
}

interface Job {
  readonly derivation: Derivation;
  readonly resolve: (tag: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

interface Seat {
  readonly worker: Worker;
  job: Job | undefined;
}

const spareStartsPerMinute = 5;

export class Argon2Pool {
  readonly #options: PoolOptions;
  readonly #seats = new Set<Seat>();
  readonly #waiting: Job[] = [];
  #startedAtMs: number[] = [];
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Jobs that wait or run. */
  get depth(): number {
    return this.#waiting.length + [...this.#seats].filter(({ job }) => job).length;
  }

  /** Starts all threads ahead of the first job. */
  start(): void {
    while (this.#openSeat());
  }

  /**
   * The tag of a password.
   * @throws PasswordQueueFull at once, PasswordWorkerLost
   */
  derive(derivation: Derivation): Promise<Uint8Array> {
    if (this.#closed) return Promise.reject(new PasswordWorkerLost("the password threads are closed"));
    if (this.#waiting.length >= this.#options.queueMax && !this.#hasFreeSeat())
      return Promise.reject(new PasswordQueueFull(`${this.#waiting.length} password checks are waiting`));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ derivation, resolve, reject });
      this.#handOut();
    });
  }

  /** Ends the threads; what still waits or runs is rejected. Call it when no request is in flight any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#rejectWaiting("the password threads are closed");
    await Promise.all([...this.#seats].map(({ worker }) => worker.terminate()));
  }

  #hasFreeSeat(): boolean {
    return this.#seats.size < this.#options.workers || [...this.#seats].some(({ job }) => !job);
  }

  #handOut(): void {
    while (this.#waiting.length > 0) {
      const seat = [...this.#seats].find(({ job }) => !job) ?? this.#openSeat();
      if (!seat) break;
      const job = this.#waiting.shift();
      seat.job = job;
      seat.worker.ref();
      seat.worker.postMessage(job?.derivation);
    }
    if (this.#seats.size === 0) this.#rejectWaiting("no password thread could be started");
  }

  /** A new thread, unless all run already or too many were started within the last minute. */
  #openSeat(): Seat | undefined {
    const nowMs = performance.now();
    this.#startedAtMs = this.#startedAtMs.filter((atMs) => nowMs - atMs < 60_000);
    const startsMax = this.#options.workers + spareStartsPerMinute;
    if (this.#closed || this.#seats.size >= this.#options.workers || this.#startedAtMs.length >= startsMax)
      return undefined;
    this.#startedAtMs.push(nowMs);
    // No environment: the thread needs no secret of this process.
    const worker = new Worker(new URL("./argon2-worker.ts", import.meta.url), {
      name: "argon2",
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4, codeRangeSizeMb: 16 },
    });
    const seat: Seat = { worker, job: undefined };
    this.#seats.add(seat);
    worker.on("message", (tag: Uint8Array) => this.#finish(seat, tag));
    // "exit" follows every "error"; the listener only keeps the error from ending the process.
    let cause = "it exited";
    worker.on("error", (error) => (cause = error.message));
    worker.on("exit", () => this.#lose(seat, cause));
    worker.unref();
    return seat;
  }

  #finish(seat: Seat, tag: Uint8Array): void {
    const job = seat.job;
    seat.job = undefined;
    seat.worker.unref();
    job?.resolve(tag);
    this.#handOut();
  }

  #lose(seat: Seat, cause: string): void {
    this.#seats.delete(seat);
    seat.job?.reject(new PasswordWorkerLost(`a password thread was lost: ${cause}`));
    this.#handOut();
  }

  #rejectWaiting(reason: string): void {
    for (const job of this.#waiting.splice(0)) job.reject(new PasswordWorkerLost(reason));
  }
}

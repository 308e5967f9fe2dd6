// A job in the hands of a worker: every few seconds it says that it is alive and how far it is, and when it may not go on
// any more (another worker has the job, or the process stops) everything that runs for the job is told to end.
import type { Runtime } from "../../host/process/runtime.ts";
import type { Tell } from "./moving/moving.ts";
import { type Job, keepJob, leaseSeconds, type Standing } from "./job-store.ts";

const sayEveryMs = 3_000;
/** Longer without a word that arrived, and another worker may have it. */
const silentMsMax = (leaseSeconds - 5) * 1000;

export class LeasedJob {
  readonly job: Job;
  readonly worker: string;
  readonly #runtime: Runtime;
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  readonly #at: Standing = { status: "running", step: "starting", percent: 0, rows: 0, bytes: 0 };
  #timer: NodeJS.Timeout;
  #saying: Promise<void> | undefined;
  #heardAt = performance.now();

  constructor(runtime: Runtime, job: Job, worker: string, stopping: AbortSignal) {
    this.#runtime = runtime;
    this.job = job;
    this.worker = worker;
    this.#signal = AbortSignal.any([stopping, this.#ending.signal]);
    this.#timer = setInterval(() => this.#sayAgain(), sayEveryMs);
  }

  /** Aborts when the work must end. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  /** Whether the process itself is stopping, or the job is another worker's. */
  get isLost(): boolean {
    return this.#signal.aborted;
  }

  at(standing: Partial<Standing>): void {
    Object.assign(this.#at, standing);
  }

  /** For work that tells how far it is: `share` 0 is `from` percent of the job, 1 is `to`. */
  told(from: number, to: number): Tell {
    return ({ share, ...more }) => this.at({ ...more, percent: from + (to - from) * share });
  }

  /** Says it now: before a step that must not be taken by two. @throws the signal's reason when it is lost */
  async say(standing: Partial<Standing> = {}): Promise<void> {
    this.at(standing);
    await this.#saying;
    await this.#say();
    this.#signal.throwIfAborted();
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#saying;
  }

  #sayAgain(): void {
    this.#saying ??= this.#say()
      .catch(() => {
        // The database is away: the lease runs out, and nobody may believe that it did not.
        if (performance.now() - this.#heardAt > silentMsMax)
          this.#ending.abort(new Error("the lease ran out"));
      })
      .finally(() => {
        this.#saying = undefined;
      });
  }

  async #say(): Promise<void> {
    const at = { ...this.#at, percent: Math.max(0, Math.min(99, Math.floor(this.#at.percent))) };
    const askedAt = performance.now();
    const kept = await keepJob(this.#runtime.database, this.job.id, this.worker, at);
    if (kept) this.#heardAt = askedAt;
    else this.#ending.abort(new Error("another worker has the job"));
  }
}

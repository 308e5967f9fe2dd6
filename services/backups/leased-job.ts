// A job that a worker has leased. It renews the lease and stores the progress every few seconds. When the
// lease is lost or the process stops, everything that works for the job is aborted.
import type { Runtime } from "../../host/process/runtime.ts";
import type { Tell } from "./moving/moving.ts";
import { type Job, renewJob, leaseSeconds, type JobProgress } from "./job-store.ts";

const renewEveryMs = 3_000;
/** After this time without a successful renewal another worker may hold the lease. */
const silentMsMax = (leaseSeconds - 5) * 1000;

/** Renewal begins with the construction and ends with `release`. */
export class LeasedJob {
  readonly job: Job;
  readonly worker: string;
  readonly #runtime: Runtime;
  readonly #leaseLost = new AbortController();
  readonly #signal: AbortSignal;
  readonly #progress: JobProgress = { status: "running", step: "starting", percent: 0, rows: 0, bytes: 0 };
  #timer: NodeJS.Timeout;
  #renewing: Promise<void> | undefined;
  #renewedAt = performance.now();

  constructor(runtime: Runtime, job: Job, worker: string, stopping: AbortSignal) {
    this.#runtime = runtime;
    this.job = job;
    this.worker = worker;
    this.#signal = AbortSignal.any([stopping, this.#leaseLost.signal]);
    this.#timer = setInterval(() => this.#renewInBackground(), renewEveryMs);
  }

  /** Aborts when the work must end. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  /** Whether the process is stopping, or the lease was lost. */
  get isLost(): boolean {
    return this.#signal.aborted;
  }

  /** Updates the progress, which the next renewal stores. */
  setProgress(standing: Partial<JobProgress>): void {
    Object.assign(this.#progress, standing);
  }

  /**
   * A progress callback for a part of the work: `share` 0 corresponds to `from` percent of the job, 1 to
   * `to`.
   */
  progressFor(from: number, to: number): Tell {
    return ({ share, ...more }) => this.setProgress({ ...more, percent: from + (to - from) * share });
  }

  /**
   * Renews the lease now, before a step that only one worker may execute.
   * @throws the signal's reason when the lease is lost
   */
  async renewNow(standing: Partial<JobProgress> = {}): Promise<void> {
    this.setProgress(standing);
    await this.#renewing;
    await this.#renew();
    this.#signal.throwIfAborted();
  }

  /** Stops renewing. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#renewing;
  }

  #renewInBackground(): void {
    this.#renewing ??= this.#renew()
      .catch(() => {
        // The database is unavailable. The lease may expire, so the worker must assume that it has.
        if (performance.now() - this.#renewedAt > silentMsMax)
          this.#leaseLost.abort(new Error("the lease ran out"));
      })
      .finally(() => {
        this.#renewing = undefined;
      });
  }

  async #renew(): Promise<void> {
    const at = { ...this.#progress, percent: Math.max(0, Math.min(99, Math.floor(this.#progress.percent))) };
    const askedAt = performance.now();
    const kept = await renewJob(this.#runtime.database, this.job.id, this.worker, at);
    if (kept) this.#renewedAt = askedAt;
    else this.#leaseLost.abort(new Error("another worker has the job"));
  }
}

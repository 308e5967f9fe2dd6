// Metric samples that must be queried, for example from the database. They are read on demand, one read at a time, and cached for
// some seconds: however often this process is scraped, the database is not queried more often than that.

/** The value of one metric, with its labels. */
export interface MetricSample<N extends string = string> {
  readonly name: N;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** @returns a sample without labels; empty if there is no value yet */
export const known = <N extends string>(name: N, value: number | null | undefined): MetricSample<N>[] =>
  value == null ? [] : [{ name, value }];

const cachedMs = 5_000;
/** Prometheus waits ten seconds by default; PostgreSQL cancels the statement after five (statementTimeoutMs). */
const limitMs = 2_000;

/** Reads samples on demand: cached for 5 s, with a timeout of 2 s. */
export class CachedSamples<N extends string> {
  readonly #read: () => Promise<readonly MetricSample<N>[]>;
  readonly #failed: () => void;
  #cached: { readonly at: number; readonly samples: readonly MetricSample<N>[] } | undefined;
  #reading: Promise<readonly MetricSample<N>[] | undefined> | undefined;

  /** @param failed called for each read that failed or came too late */
  constructor(read: () => Promise<readonly MetricSample<N>[]>, failed: () => void) {
    this.#read = read;
    this.#failed = failed;
  }

  /** @returns undefined if the samples are not ready in time. A late read continues, and no other is started meanwhile. */
  async samples(): Promise<readonly MetricSample<N>[] | undefined> {
    if (this.#cached !== undefined && performance.now() - this.#cached.at < cachedMs)
      return this.#cached.samples;
    this.#reading ??= this.#readOnce();
    return this.#reading;
  }

  /** Concurrent callers wait for the same read. */
  #readOnce(): Promise<readonly MetricSample<N>[] | undefined> {
    return new Promise((resolve) => {
      let isLate = false;
      const end = (samples: readonly MetricSample<N>[] | undefined) => {
        if (samples === undefined && !isLate) this.#failed();
        resolve(samples);
      };
      const late = setTimeout(() => {
        end(undefined);
        isLate = true;
      }, limitMs);
      void this.#read()
        .then((samples) => {
          this.#cached = { at: performance.now(), samples };
          end(samples);
        })
        .catch(() => end(undefined))
        .finally(() => {
          clearTimeout(late);
          this.#reading = undefined;
        });
    });
  }
}

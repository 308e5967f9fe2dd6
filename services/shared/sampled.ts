// Figures that have to be asked for, of the database for example. They are asked for when somebody wants them, once at a
// time, and kept for some seconds: however often this process is scraped, the database is asked no more often than that.

/** One figure, with its labels. */
export interface Figure<N extends string = string> {
  readonly name: N;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A figure without labels, which may not be there yet. */
export const known = <N extends string>(name: N, value: number | null | undefined): Figure<N>[] =>
  value == null ? [] : [{ name, value }];

const keptMs = 5_000;
/** Prometheus waits ten seconds by default; PostgreSQL ends the statement after five (statementTimeoutMs). */
const limitMs = 2_000;

export class Sampled<N extends string> {
  readonly #read: () => Promise<readonly Figure<N>[]>;
  readonly #failed: () => void;
  #kept: { readonly at: number; readonly figures: readonly Figure<N>[] } | undefined;
  #asking: Promise<readonly Figure<N>[] | undefined> | undefined;

  /** @param failed told of each reading that failed, or came too late for whoever waited */
  constructor(read: () => Promise<readonly Figure<N>[]>, failed: () => void) {
    this.#read = read;
    this.#failed = failed;
  }

  /** Undefined when they could not be had in time. One that is late goes on, and no other is begun beside it. */
  async figures(): Promise<readonly Figure<N>[] | undefined> {
    if (this.#kept !== undefined && performance.now() - this.#kept.at < keptMs) return this.#kept.figures;
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  /** Whoever asks meanwhile waits for the same answer, and no longer. */
  #ask(): Promise<readonly Figure<N>[] | undefined> {
    return new Promise((resolve) => {
      let isLate = false;
      const end = (figures: readonly Figure<N>[] | undefined) => {
        if (figures === undefined && !isLate) this.#failed();
        resolve(figures);
      };
      const late = setTimeout(() => {
        end(undefined);
        isLate = true;
      }, limitMs);
      void this.#read()
        .then((figures) => {
          this.#kept = { at: performance.now(), figures };
          end(figures);
        })
        .catch(() => end(undefined))
        .finally(() => {
          clearTimeout(late);
          this.#asking = undefined;
        });
    });
  }
}

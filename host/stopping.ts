// How a process ends: in order, within a bound. A terminal's Ctrl-C reaches the whole group, and npm passes its own on
// once more, so that two signals come within a millisecond: a second one says "at once" only when a second has passed.
const impatientAfterMs = 1_000;

export interface Ending {
  /** Ends everything in order. */
  close(): Promise<void>;
  exit(code: number): void;
  /** Longest that may take (shared/drain.ts). */
  stopMsMax: number;
  now?(): number;
}

export class Stopping {
  readonly #ending: Ending;
  #since: number | undefined;

  constructor(ending: Ending) {
    this.#ending = ending;
  }

  get hasBegun(): boolean {
    return this.#since !== undefined;
  }

  /** SIGINT, SIGTERM, or SIGHUP as the terminal was closed: what was asked for was done, so the exit code is 0. */
  signal(): void {
    if (this.#since === undefined) this.#begin(0);
    else if (this.#now() - this.#since >= impatientAfterMs) this.#ending.exit(1);
  }

  /** The process cannot go on. */
  fail(): void {
    if (this.#since === undefined) this.#begin(1);
    else this.#ending.exit(1);
  }

  #begin(code: number): void {
    this.#since = this.#now();
    setTimeout(() => this.#ending.exit(1), this.#ending.stopMsMax).unref();
    void this.#ending.close().finally(() => this.#ending.exit(code));
  }

  #now(): number {
    return this.#ending.now?.() ?? performance.now();
  }
}

// Stops a process in order, within a bounded time. Ctrl-C in a terminal reaches the whole process group, and npm forwards its own
// signal, so two signals arrive within a millisecond. Therefore a second signal forces the exit only after one second.
const forceAfterMs = 1_000;

export interface StopOptions {
  /** Closes everything in order. */
  close(): Promise<void>;
  exit(code: number): void;
  /** The longest time that it may take, in ms (services/shared/drain.ts). */
  stopMsMax: number;
  now?(): number;
}

/** The stop of a process; it begins once. */
export class Stopping {
  readonly #ending: StopOptions;
  #since: number | undefined;

  constructor(ending: StopOptions) {
    this.#ending = ending;
  }

  get hasBegun(): boolean {
    return this.#since !== undefined;
  }

  /** Handles SIGINT, SIGTERM, or SIGHUP from a closed terminal. The stop was requested, so the exit code is 0. */
  signal(): void {
    if (this.#since === undefined) this.#begin(0);
    else if (this.#now() - this.#since >= forceAfterMs) this.#ending.exit(1);
  }

  /** Stops the process because it cannot continue; the exit code is 1. */
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

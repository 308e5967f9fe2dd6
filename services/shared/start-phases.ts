// The two moments of a process's start that services take part in: before anything is opened or written, when they look
// whether they could work at all, and when everything is ready, the first data included, when they let clients in.
type Work = () => Promise<void> | void;

export class StartPhases {
  readonly #checks: Work[] = [];
  readonly #openings: Work[] = [];
  #isReady = false;

  /** Whether calls of others may be answered. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** @param check throws a StartError where the start could only fail */
  beforeOpening(check: Work): void {
    this.#checks.push(check);
  }

  /** @param open called once, in the order in which it was asked for */
  onceReady(open: Work): void {
    this.#openings.push(open);
  }

  async check(): Promise<void> {
    for (const check of this.#checks) await check();
  }

  async ready(): Promise<void> {
    this.#isReady = true;
    for (const open of this.#openings.splice(0)) await open();
  }
}

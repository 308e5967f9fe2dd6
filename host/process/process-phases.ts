// The phases of a process in which services take part: checks before anything is opened or written; the moment when everything is
// ready, the first data included, and clients are admitted; and the beginning of the stop, before running calls are awaited.
type Work = () => Promise<void> | void;

/** Functions that services register for the phases. */
export class ProcessPhases {
  readonly #checks: Work[] = [];
  readonly #openings: Work[] = [];
  readonly #endings: (() => void)[] = [];
  readonly #needs = new Map<string, () => boolean>();
  #isReady = false;

  /** Whether calls of other nodes may be answered. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** @param check throws a StartError if the start would fail anyway */
  beforeOpening(check: Work): void {
    this.#checks.push(check);
  }

  /** @param open called once, in the order of registration */
  onceReady(open: Work): void {
    this.#openings.push(open);
  }

  /** @param end stops admitting clients; it is not awaited and must not throw */
  onceStopping(end: () => void): void {
    this.#endings.push(end);
  }

  /** @param isThere called by /readyz until the process was ready once; must neither block nor throw */
  needs(what: string, isThere: () => boolean): void {
    this.#needs.set(what, isThere);
  }

  /** Needs of services besides the bus and the database, and whether they are available. */
  needed(): Record<string, boolean> {
    return Object.fromEntries([...this.#needs].map(([what, isThere]) => [what, isThere()]));
  }

  async check(): Promise<void> {
    for (const check of this.#checks) await check();
  }

  async ready(): Promise<void> {
    this.#isReady = true;
    for (const open of this.#openings.splice(0)) await open();
  }

  stopping(): void {
    for (const end of this.#endings.splice(0)) end();
  }
}

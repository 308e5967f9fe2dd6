// The moments of a process's life that services take part in: before anything is opened or written, when they look whether
// they could work at all; when everything is ready, the first data included, and clients are let in; and when it is to
// stop, before calls under way are waited for.
type Work = () => Promise<void> | void;

export class ProcessPhases {
  readonly #checks: Work[] = [];
  readonly #openings: Work[] = [];
  readonly #endings: (() => void)[] = [];
  readonly #needs = new Map<string, () => boolean>();
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

  /** @param end lets nobody new in; it is not waited for, and must not throw */
  onceStopping(end: () => void): void {
    this.#endings.push(end);
  }

  /** @param isThere asked by /readyz until the process was ready once; it must not wait, nor throw */
  needs(what: string, isThere: () => boolean): void {
    this.#needs.set(what, isThere);
  }

  /** What services need beyond the bus and the database, and whether it is there. */
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

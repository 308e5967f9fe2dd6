// Whether this process serves others at this moment, by how many of their calls it was asked for. (What its thread computes
// says it less well: timers, progress and detectors of all services at rest are one or two percent of a core.)

/**
 * So many a second, and somebody is kept waiting if archives are moved as fast as it goes. A call takes some two milliseconds: with
 * fewer than these, more than 98 of 100 milliseconds are free, and giving way would make the backup 2.5 times as long for nobody.
 */
const callsPerSecondMin = 10;
/** Over which they are counted: one page of the console asks for several things at once. */
const countedMs = 1_000;
/** Requests come in bursts. */
const staysMs = 2_000;

/** How many calls there were until then. */
interface Asked {
  atMs: number;
  calls: number;
}

export class Serving {
  readonly #asked: () => Asked;
  /** Of the time over which is counted, oldest first. */
  readonly #seen: Asked[];
  #busyUntilMs = Number.NEGATIVE_INFINITY;

  /** @param asked by the clock of the process, and how many calls it has been asked for since it began */
  constructor(asked: () => Asked) {
    this.#asked = asked;
    this.#seen = [asked()];
  }

  /** Asked some times a second. */
  isBusy(): boolean {
    const now = this.#asked();
    this.#seen.push(now);
    while ((this.#seen[1]?.atMs ?? now.atMs) <= now.atMs - countedMs) this.#seen.shift();
    const from = this.#seen[0] ?? now;
    const perSecond = ((now.calls - from.calls) * 1_000) / Math.max(countedMs, now.atMs - from.atMs);
    if (perSecond >= callsPerSecondMin) this.#busyUntilMs = now.atMs + staysMs;
    return now.atMs < this.#busyUntilMs;
  }
}

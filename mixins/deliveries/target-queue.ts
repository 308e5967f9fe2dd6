// What a worker knows of one target it has leased: what waits, what is under way, and whether it may start another.
import type { Delivery, TargetRef } from "./channel.ts";
import { leaseSeconds } from "./leases.ts";

/** In flight at one endpoint, in all processes: only one of them has its lease. */
const slotsMax = 10;
/** For one that has only failed for a while: it may be hanging, and would hold ten connections for nothing. */
const slotsOfFailing = 2;
const failuresUntilSlow = 10;
/** A worker that could not renew its leases for so long starts nothing more: soon another may. */
const leaseMsNeeded = 5_000;

export class TargetQueue<Settings> implements TargetRef {
  readonly tenantId: number;
  readonly targetId: number;
  /** As read with the lease; see settle(). */
  wakes: string;
  settings: Settings | "later" | undefined;
  settingsAt = Number.NEGATIVE_INFINITY;
  /** In the order in which they are to be started. */
  readonly waiting: Delivery[] = [];
  /** Everything in this worker's hands: waiting, in flight, or not yet in the log. */
  readonly busy = new Set<string>();
  inFlight = 0;
  /** Whether the last reading may have left something. */
  mayHaveMore = true;
  leasedUntil: number;
  #failures = 0;

  /** @param askedAt of performance.now(), before the lease was asked for */
  constructor(target: TargetRef, wakes: string, askedAt: number) {
    this.tenantId = target.tenantId;
    this.targetId = target.targetId;
    this.wakes = wakes;
    this.leasedUntil = askedAt + leaseSeconds * 1000;
  }

  renewed(wakes: string, askedAt: number): void {
    if (wakes !== this.wakes) this.mayHaveMore = true;
    this.wakes = wakes;
    this.leasedUntil = askedAt + leaseSeconds * 1000;
  }

  fill(delivery: Delivery): void {
    this.busy.add(delivery.id);
    this.waiting.push(delivery);
  }

  /** It is told nothing any more. */
  drop(): void {
    for (const { id } of this.waiting.splice(0)) this.busy.delete(id);
    this.mayHaveMore = false;
  }

  /** The next one to start, if any may be started now. */
  take(now: number): { delivery: Delivery; settings: Settings } | undefined {
    const { settings } = this;
    if (settings === undefined || settings === "later" || now > this.leasedUntil - leaseMsNeeded)
      return undefined;
    const slots = this.#failures >= failuresUntilSlow ? slotsOfFailing : slotsMax;
    if (this.inFlight >= slots) return undefined;
    const delivery = this.waiting.shift();
    if (delivery === undefined) return undefined;
    this.inFlight++;
    return { delivery, settings };
  }

  /** @param well whether nothing was wrong with the target */
  ended(well: boolean): void {
    this.inFlight--;
    this.#failures = well ? 0 : this.#failures + 1;
  }

  /** Nothing of it is in this worker's hands. */
  get isIdle(): boolean {
    return this.busy.size === 0;
  }
}

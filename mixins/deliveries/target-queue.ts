// The queue of one leased target: which deliveries wait, which are in flight, and whether another one may start.
import type { Delivery, TargetRef } from "./channel.ts";
import { leaseSeconds } from "./leases.ts";

/** Requests in flight to one target, over all processes: only one process has its lease. */
const slotsMax = 10;
/** For a target that has only failed for a while: it may hang, and would keep ten connections open for nothing. */
const slotsOfFailing = 2;
const failuresUntilSlow = 10;
/** A worker that has this time left on a lease starts nothing more: another worker may acquire the lease soon. */
const leaseMsNeeded = 5_000;

/** The waiting and running deliveries of one leased target. */
export class TargetQueue<Settings> implements TargetRef {
  readonly tenantId: number;
  readonly targetId: number;
  /** The counter `wakes` as read with the lease; see releaseIdleLeases(). */
  wakeCount: string;
  settings: Settings | "later" | undefined;
  settingsAt = Number.NEGATIVE_INFINITY;
  /** In the order in which they are to be sent. */
  readonly waiting: Delivery[] = [];
  /** Ids of all deliveries that this worker has: waiting, in flight, or with a result that is not yet in the log. */
  readonly busy = new Set<string>();
  inFlight = 0;
  /** Whether the last read may have left deliveries. */
  mayHaveMore = true;
  leasedUntil: number;
  #failures = 0;

  /** @param askedAt performance.now() before the lease was requested */
  constructor(target: TargetRef, wakes: string, askedAt: number) {
    this.tenantId = target.tenantId;
    this.targetId = target.targetId;
    this.wakeCount = wakes;
    this.leasedUntil = askedAt + leaseSeconds * 1000;
  }

  renewed(wakes: string, askedAt: number): void {
    if (wakes !== this.wakeCount) this.mayHaveMore = true;
    this.wakeCount = wakes;
    this.leasedUntil = askedAt + leaseSeconds * 1000;
  }

  fill(delivery: Delivery): void {
    this.busy.add(delivery.id);
    this.waiting.push(delivery);
  }

  /** Drops the waiting deliveries: the target gets nothing more. */
  dropWaiting(): void {
    for (const { id } of this.waiting.splice(0)) this.busy.delete(id);
    this.mayHaveMore = false;
  }

  /** @returns the next delivery to send, or undefined when none may be sent now */
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

  /** @param well whether the target accepted the delivery, or was not at fault */
  ended(well: boolean): void {
    this.inFlight--;
    this.#failures = well ? 0 : this.#failures + 1;
  }

  /** Whether this worker has no delivery of the target. */
  get isIdle(): boolean {
    return this.busy.size === 0;
  }
}

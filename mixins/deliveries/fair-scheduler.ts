// Whose turn it is: tenants one after the other, and a tenant's targets one after the other, so that neither many targets
// nor a long backlog buys anybody more than their share. Bounds what is in flight, of all and of one tenant.
import type { Delivery } from "./channel.ts";
import type { TargetQueue } from "./target-queue.ts";

const inFlightMax = 400;
const inFlightOfTenantMax = 200;

interface Tenant<Settings> {
  lanes: TargetQueue<Settings>[];
  next: number;
  inFlight: number;
}

export class FairScheduler<Settings> {
  readonly #tenants = new Map<number, Tenant<Settings>>();
  #order: Tenant<Settings>[] = [];
  #next = 0;
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  add(lane: TargetQueue<Settings>): void {
    const tenant = this.#tenants.get(lane.tenantId) ?? { lanes: [], next: 0, inFlight: 0 };
    tenant.lanes.push(lane);
    if (tenant.lanes.length > 1 || this.#tenants.has(lane.tenantId)) return;
    this.#tenants.set(lane.tenantId, tenant);
    this.#order = [...this.#tenants.values()];
  }

  remove(lane: TargetQueue<Settings>): void {
    const tenant = this.#tenants.get(lane.tenantId);
    if (tenant === undefined) return;
    tenant.lanes = tenant.lanes.filter((each) => each !== lane);
    this.#dropEmpty(lane.tenantId, tenant);
  }

  /** Starts what may be started. @param start must not throw */
  run(
    now: number,
    start: (lane: TargetQueue<Settings>, delivery: Delivery, settings: Settings) => void,
  ): void {
    for (let idle = 0; idle < this.#order.length && this.#inFlight < inFlightMax; ) {
      const tenant = this.#order[this.#next++ % this.#order.length];
      const taken = tenant === undefined ? undefined : takeFrom(tenant, now);
      if (tenant === undefined || taken === undefined) {
        idle++;
        continue;
      }
      idle = 0;
      this.#inFlight++;
      tenant.inFlight++;
      start(taken.lane, taken.delivery, taken.settings);
    }
  }

  ended(lane: TargetQueue<Settings>): void {
    this.#inFlight--;
    const tenant = this.#tenants.get(lane.tenantId);
    if (tenant === undefined) return;
    tenant.inFlight--;
    this.#dropEmpty(lane.tenantId, tenant);
  }

  #dropEmpty(tenantId: number, tenant: Tenant<Settings>): void {
    if (tenant.lanes.length > 0 || tenant.inFlight > 0) return;
    this.#tenants.delete(tenantId);
    this.#order = [...this.#tenants.values()];
  }
}

function takeFrom<S>(tenant: Tenant<S>, now: number) {
  if (tenant.inFlight >= inFlightOfTenantMax) return undefined;
  for (let passed = 0; passed < tenant.lanes.length; passed++) {
    const lane = tenant.lanes[tenant.next++ % tenant.lanes.length];
    const taken = lane?.take(now);
    if (lane !== undefined && taken !== undefined) return { lane, ...taken };
  }
  return undefined;
}

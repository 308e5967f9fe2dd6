// Chooses the next delivery: tenants in turn, and within a tenant its targets in turn. So neither many targets nor a long backlog
// gives a tenant more than its share. Bounds the requests in flight, in total and per tenant.
import type { Delivery } from "./channel.ts";
import type { TargetQueue } from "./target-queue.ts";

const inFlightMax = 400;
const inFlightOfTenantMax = 200;

interface Tenant<Settings> {
  queues: TargetQueue<Settings>[];
  next: number;
  inFlight: number;
}

/** Round robin over tenants and their targets, with at most 400 deliveries in flight and 200 per tenant. */
export class FairScheduler<Settings> {
  readonly #tenants = new Map<number, Tenant<Settings>>();
  #order: Tenant<Settings>[] = [];
  #next = 0;
  #inFlight = 0;

  get inFlight(): number {
    return this.#inFlight;
  }

  add(queue: TargetQueue<Settings>): void {
    const tenant = this.#tenants.get(queue.tenantId) ?? { queues: [], next: 0, inFlight: 0 };
    tenant.queues.push(queue);
    if (tenant.queues.length > 1 || this.#tenants.has(queue.tenantId)) return;
    this.#tenants.set(queue.tenantId, tenant);
    this.#order = [...this.#tenants.values()];
  }

  remove(queue: TargetQueue<Settings>): void {
    const tenant = this.#tenants.get(queue.tenantId);
    if (tenant === undefined) return;
    tenant.queues = tenant.queues.filter((each) => each !== queue);
    this.#dropEmpty(queue.tenantId, tenant);
  }

  /** Starts deliveries until a bound is reached or nothing is left. @param start must not throw */
  run(
    now: number,
    start: (queue: TargetQueue<Settings>, delivery: Delivery, settings: Settings) => void,
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
      start(taken.queue, taken.delivery, taken.settings);
    }
  }

  ended(queue: TargetQueue<Settings>): void {
    this.#inFlight--;
    const tenant = this.#tenants.get(queue.tenantId);
    if (tenant === undefined) return;
    tenant.inFlight--;
    this.#dropEmpty(queue.tenantId, tenant);
  }

  #dropEmpty(tenantId: number, tenant: Tenant<Settings>): void {
    if (tenant.queues.length > 0 || tenant.inFlight > 0) return;
    this.#tenants.delete(tenantId);
    this.#order = [...this.#tenants.values()];
  }
}

function takeFrom<S>(tenant: Tenant<S>, now: number) {
  if (tenant.inFlight >= inFlightOfTenantMax) return undefined;
  for (let passed = 0; passed < tenant.queues.length; passed++) {
    const queue = tenant.queues[tenant.next++ % tenant.queues.length];
    const taken = queue?.take(now);
    if (queue !== undefined && taken !== undefined) return { queue, ...taken };
  }
  return undefined;
}

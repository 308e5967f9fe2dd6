// The targets that this worker has leased: acquired when a delivery is due, renewed during the work, released when nothing is
// due.
import type { Database } from "../../services/shared/database/database.ts";
import { TargetQueue } from "./target-queue.ts";
import { acquireLeases, findLostLeases, releaseLeases, renewLeases, releaseIdleLeases } from "./leases.ts";
import { FairScheduler } from "./fair-scheduler.ts";

const targetsMax = 500;
const renewEveryMs = 3_000;

/** The leases of one worker, and a queue for each leased target. At most 500 targets; a lease is renewed every 3 s. */
export class LeasedTargets<Settings> {
  readonly scheduler = new FairScheduler<Settings>();
  readonly #database: Database;
  readonly #channel: string;
  readonly #worker: string;
  readonly #queues = new Map<number, TargetQueue<Settings>>();
  #renewedAt = 0;

  constructor(database: Database, channel: string, worker: string) {
    this.#database = database;
    this.#channel = channel;
    this.#worker = worker;
  }

  get queues(): TargetQueue<Settings>[] {
    return [...this.#queues.values()];
  }

  async leaseDue(): Promise<void> {
    const room = targetsMax - this.#queues.size;
    if (room <= 0) return;
    const askedAt = performance.now();
    for (const leased of await acquireLeases(this.#database, this.#channel, this.#worker, room)) {
      const { id: targetId, tenant_id: tenantId, wakes } = leased;
      // A lease of ours that had expired may have been acquired a second time.
      this.#drop(targetId);
      const queue = new TargetQueue<Settings>({ tenantId, targetId }, wakes, askedAt);
      this.#queues.set(targetId, queue);
      this.scheduler.add(queue);
    }
  }

  async renewIfDue(): Promise<void> {
    if (performance.now() - this.#renewedAt < renewEveryMs || this.#queues.size === 0) return;
    this.#renewedAt = performance.now();
    await this.#renew([...this.#queues.keys()]);
  }

  /** Releases targets with nothing due. A target that got new deliveries in the meantime is kept and read again. */
  async releaseIdle(): Promise<void> {
    const idle = this.queues.filter((queue) => queue.isIdle && !queue.mayHaveMore);
    if (idle.length === 0) return;
    const refs = idle.map(({ targetId, wakeCount: wakes }) => ({ id: targetId, wakes }));
    const released = new Set(await releaseIdleLeases(this.#database, this.#worker, refs));
    for (const id of released) this.#drop(id);
    const changed = refs.map(({ id }) => id).filter((id) => !released.has(id));
    if (changed.length > 0) await this.#renew(changed);
  }

  async release(): Promise<void> {
    await releaseLeases(this.#database, this.#worker);
  }

  /** Renews the leases that are still ours, and drops the targets whose leases were lost. */
  async #renew(ids: readonly number[]): Promise<void> {
    const askedAt = performance.now();
    const renewed = await renewLeases(this.#database, this.#worker, ids);
    for (const { id, wakes } of renewed) this.#queues.get(id)?.renewed(wakes, askedAt);
    if (renewed.length === ids.length) return;
    const own = new Set(renewed.map(({ id }) => id));
    const missing = ids.filter((id) => !own.has(id));
    for (const id of await findLostLeases(this.#database, this.#worker, missing)) this.#drop(id);
  }

  /** Requests in flight to the target continue. Their results are written unless another worker was faster. */
  #drop(id: number): void {
    const queue = this.#queues.get(id);
    if (queue === undefined) return;
    queue.waiting.length = 0;
    this.#queues.delete(id);
    this.scheduler.remove(queue);
  }
}

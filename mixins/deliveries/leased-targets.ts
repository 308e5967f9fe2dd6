// The targets whose leases this worker holds: taken when something is due, renewed while it works, let go when nothing is.
import type { Database } from "../../services/shared/database/database.ts";
import { TargetQueue } from "./target-queue.ts";
import { lease, lost, release, renew, settle } from "./leases.ts";
import { FairScheduler } from "./fair-scheduler.ts";

const targetsMax = 500;
const renewEveryMs = 3_000;

export class LeasedTargets<Settings> {
  readonly turns = new FairScheduler<Settings>();
  readonly #database: Database;
  readonly #channel: string;
  readonly #worker: string;
  readonly #lanes = new Map<number, TargetQueue<Settings>>();
  #renewedAt = 0;

  constructor(database: Database, channel: string, worker: string) {
    this.#database = database;
    this.#channel = channel;
    this.#worker = worker;
  }

  get lanes(): TargetQueue<Settings>[] {
    return [...this.#lanes.values()];
  }

  async leaseDue(): Promise<void> {
    const room = targetsMax - this.#lanes.size;
    if (room <= 0) return;
    const askedAt = performance.now();
    for (const leased of await lease(this.#database, this.#channel, this.#worker, room)) {
      const { id: targetId, tenant_id: tenantId, wakes } = leased;
      // A lease of ours that had run out may come back to us.
      this.#forget(targetId);
      const lane = new TargetQueue<Settings>({ tenantId, targetId }, wakes, askedAt);
      this.#lanes.set(targetId, lane);
      this.turns.add(lane);
    }
  }

  async renewNowAndThen(): Promise<void> {
    if (performance.now() - this.#renewedAt < renewEveryMs || this.#lanes.size === 0) return;
    this.#renewedAt = performance.now();
    await this.#refresh([...this.#lanes.keys()]);
  }

  /** Targets with nothing due; those that were woken in the meantime stay, to be looked at again. */
  async letGoIdle(): Promise<void> {
    const idle = this.lanes.filter((lane) => lane.isIdle && !lane.mayHaveMore);
    if (idle.length === 0) return;
    const refs = idle.map(({ targetId, wakes }) => ({ id: targetId, wakes }));
    const settled = new Set(await settle(this.#database, this.#worker, refs));
    for (const id of settled) this.#forget(id);
    const woken = refs.map(({ id }) => id).filter((id) => !settled.has(id));
    if (woken.length > 0) await this.#refresh(woken);
  }

  async release(): Promise<void> {
    await release(this.#database, this.#worker);
  }

  /** Leases anew what is still ours, and forgets what is not. */
  async #refresh(ids: readonly number[]): Promise<void> {
    const askedAt = performance.now();
    const renewed = await renew(this.#database, this.#worker, ids);
    for (const { id, wakes } of renewed) this.#lanes.get(id)?.renewed(wakes, askedAt);
    if (renewed.length === ids.length) return;
    const own = new Set(renewed.map(({ id }) => id));
    const missing = ids.filter((id) => !own.has(id));
    for (const id of await lost(this.#database, this.#worker, missing)) this.#forget(id);
  }

  /** What is in flight to it goes on; its result is written if nobody was faster. */
  #forget(id: number): void {
    const lane = this.#lanes.get(id);
    if (lane === undefined) return;
    lane.waiting.length = 0;
    this.#lanes.delete(id);
    this.turns.remove(lane);
  }
}

// Leases of targets: only the worker that holds the lease sends to the target. A lease lasts 15 seconds by the database's clock.
// When a worker dies, another one takes the target after the lease has expired. No statement here waits for a row lock of
// somebody else, so none can be part of a deadlock.
import { Caller } from "../../services/shared/caller.ts";
import type { Database } from "../../services/shared/database/database.ts";
import { platform } from "../../services/shared/database/scope.ts";
import type { RowOf } from "../../services/shared/database/row.ts";

const caller = Caller.system("deliveries");

export const leaseSeconds = 15;

/** A tenant that is being restored is frozen: nothing is sent to its targets, and due deliveries wait. */
const frozen = `exists (select from tenant_freezes f where f.tenant_id = delivery_targets.tenant_id and f.until > now())`;

export interface LeasedTarget {
  id: number;
  tenant_id: number;
  wakes: string;
}

/** @returns whether events wait for fan-out, and whether a target of the channel is due and free */
export async function findWork(
  database: Database,
  channel: string,
): Promise<{ queued: boolean; due: boolean } | undefined> {
  return database.readOne(platform, {
    name: "deliveries.look",
    byIndex: true,
    text: `select exists (select from fan_out_queue) as queued,
      exists (select from delivery_targets where next_due_at <= now() and channel = $1
        and (leased_until is null or leased_until < now()) and not ${frozen}) as due`,
    values: [channel],
  });
}

/** Leases the free targets that have waited longest. */
export function acquireLeases(
  database: Database,
  channel: string,
  worker: string,
  max: number,
): Promise<LeasedTarget[]> {
  return database.write(platform, caller, {
    name: "deliveries.lease",
    byIndex: true,
    text: `update delivery_targets set leased_by = $2::uuid, leased_until = now() + interval '${leaseSeconds} seconds'
      where id in (select id from delivery_targets where next_due_at <= now() and channel = $1
        and (leased_until is null or leased_until < now()) and not ${frozen} order by next_due_at limit $3 for no key update skip locked)
      returning id, tenant_id, wakes`,
    values: [channel, worker, max],
  });
}

/** @returns the targets that are still leased by this worker, with their counters `wakes`; rows locked by others are left out */
export function renewLeases(
  database: Database,
  worker: string,
  ids: readonly number[],
): Promise<LeasedTarget[]> {
  return database.write(platform, caller, {
    name: "deliveries.renew",
    byIndex: true,
    text: `with mine as (select id from delivery_targets where id = any($2::integer[]) and leased_by = $1::uuid
        for no key update skip locked)
      update delivery_targets t set leased_until = now() + interval '${leaseSeconds} seconds' from mine
      where t.id = mine.id returning t.id, t.tenant_id, t.wakes`,
    values: [worker, ids],
  });
}

/** @returns which of the targets are no longer leased by this worker */
export async function findLostLeases(
  database: Database,
  worker: string,
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  const kept = await database.read<RowOf<"delivery_targets", "id">>(platform, {
    name: "deliveries.kept",
    byIndex: true,
    text: "select id from delivery_targets where id = any($2::integer[]) and leased_by = $1::uuid",
    values: [worker, ids],
  });
  const own = new Set(kept.map(({ id }) => id));
  return new Set(ids.filter((id) => !own.has(id)));
}

/**
 * Releases targets with nothing due, and records when their next delivery is due. A target whose counter `wakes` has changed
 * since it was read is kept: the new delivery may not be visible to this statement.
 * @returns the targets that were released
 */
export async function releaseIdleLeases(
  database: Database,
  worker: string,
  targets: readonly { id: number; wakes: string }[],
): Promise<readonly number[]> {
  const released = await database.write<RowOf<"delivery_targets", "id">>(platform, caller, {
    name: "deliveries.settle",
    byIndex: true,
    text: `with given as (select * from unnest($2::integer[], $3::bigint[]) as g (id, wakes)),
      mine as (select t.id, t.tenant_id from delivery_targets t join given g on g.id = t.id and g.wakes = t.wakes
        where t.leased_by = $1::uuid for no key update of t skip locked)
      update delivery_targets t set leased_by = null, leased_until = null, next_due_at = (select min(d.due_at)
        from deliveries d where d.tenant_id = t.tenant_id and d.target_id = t.id and d.state = 'pending')
      from mine where t.id = mine.id returning t.id`,
    values: [worker, targets.map(({ id }) => id), targets.map(({ wakes }) => wakes)],
  });
  return released.map(({ id }) => id);
}

/** Releases all leases of the worker, so that the next worker does not wait until they expire. */
export async function releaseLeases(database: Database, worker: string): Promise<void> {
  await database.write(platform, caller, {
    name: "deliveries.release",
    byIndex: true,
    text: "update delivery_targets set leased_by = null, leased_until = null where leased_by = $1::uuid",
    values: [worker],
  });
}

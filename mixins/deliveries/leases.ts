// Who may speak to a target: the worker that holds its lease, for a quarter of a minute at a time by the database's clock. A
// worker that died is followed by another when the lease has run out. No statement here waits for a row that somebody else
// holds, so none can be part of a deadlock.
import { Caller } from "../../services/shared/caller.ts";
import type { Database } from "../../services/shared/database/database.ts";
import { platform } from "../../services/shared/database/scope.ts";

const caller = Caller.system("deliveries");

export const leaseSeconds = 15;

/** Nobody is told of a tenant that is being restored; what is due waits. */
const frozen = `exists (select from tenant_freezes f where f.tenant_id = delivery_targets.tenant_id and f.until > now())`;

export interface Leased {
  id: number;
  tenant_id: number;
  wakes: string;
}

/** What there is to do for a worker of the channel. */
export async function look(
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

/** Those that have waited longest. */
export function lease(database: Database, channel: string, worker: string, max: number): Promise<Leased[]> {
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

/** @returns those that are still this worker's, and how often each was woken; some may be held by others at the moment */
export function renew(database: Database, worker: string, ids: readonly number[]): Promise<Leased[]> {
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

/** Which of the targets are no longer this worker's. */
export async function lost(
  database: Database,
  worker: string,
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  const kept = await database.read<{ id: number }>(platform, {
    name: "deliveries.kept",
    byIndex: true,
    text: "select id from delivery_targets where id = any($2::integer[]) and leased_by = $1::uuid",
    values: [worker, ids],
  });
  const own = new Set(kept.map(({ id }) => id));
  return new Set(ids.filter((id) => !own.has(id)));
}

/**
 * Lets go of targets with nothing due, and notes when something will be. One that was woken since it was last looked at is
 * kept: what woke it may not be visible to this statement.
 * @returns those that were let go
 */
export async function settle(
  database: Database,
  worker: string,
  targets: readonly { id: number; wakes: string }[],
): Promise<readonly number[]> {
  const settled = await database.write<{ id: number }>(platform, caller, {
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
  return settled.map(({ id }) => id);
}

/** So that the next worker need not wait for the leases to run out. */
export async function release(database: Database, worker: string): Promise<void> {
  await database.write(platform, caller, {
    name: "deliveries.release",
    byIndex: true,
    text: "update delivery_targets set leased_by = null, leased_until = null where leased_by = $1::uuid",
    values: [worker],
  });
}

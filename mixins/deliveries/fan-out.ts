// Turns events into deliveries: one for each target of the tenant that subscribes to the kind, is allowed to receive the event
// and existed before it.
// A process handles one tenant at a time, and a tenant is handled by one process at a time. So the numbers of a target follow the
// order of its events. One statement handles a whole batch, so a crash leaves the queue unchanged.
import type { Change } from "../../services/shared/database/change.ts";
import { Caller } from "../../services/shared/caller.ts";
import type { Database } from "../../services/shared/database/database.ts";
import { platform } from "../../services/shared/database/scope.ts";
import type { RetryDelays } from "./retry-delays.ts";

const caller = Caller.system("deliveries");

const eventsMax = 500;
const tenantsMax = 500;
/** The first key of the two-part advisory lock; the second key is the tenant. */
const lockClass = 0x0fa4;

/** Finds the distinct tenants by jumping through the index: after an outage the queue may be long. */
const tenantsText = `with recursive hop as (
    (select tenant_id from fan_out_queue order by tenant_id limit 1)
    union all
    select (select q.tenant_id from fan_out_queue q where q.tenant_id > hop.tenant_id order by q.tenant_id limit 1)
    from hop where hop.tenant_id is not null
  ) select tenant_id from hop where tenant_id is not null limit ${tenantsMax}`;

// last_seq is read by the same update that raises it: the fan-out of another process may have committed after this statement
// began.
const fanOutText = `with held as (select pg_try_advisory_xact_lock(${lockClass}, $1) as held),
  due as materialized (
    select q.event_id from fan_out_queue q where q.tenant_id = $1 and (select held from held)
    order by q.event_id limit ${eventsMax} for update skip locked
  ), published as materialized (
    select e.* from due cross join lateral (
      select id, kind, payload, created_at, trace from events where tenant_id = $1 and id = due.event_id offset 0) e
  ), matched as (
    select e.id, e.kind, e.payload, e.created_at, e.trace, t.id as target_id,
      make_interval(secs => ($2::json ->> t.channel)::float8) as wait,
      row_number() over (partition by t.id order by e.id) as place, count(*) over (partition by t.id) as places
    from published e join delivery_targets t on t.tenant_id = $1 and t.deleted_at is null and t.is_active
      and t.created_at <= e.created_at and t.events && array[e.kind, '*']
      and (t.channel = 'webhook' or may_be_told($1, t.id, t.channel, e.kind, e.payload))
    where exists (select from tenants where id = $1 and is_active and deleted_at is null)
  ), bumped as (
    update delivery_targets t set last_seq = t.last_seq + m.places, wakes = t.wakes + 1,
      next_due_at = least(t.next_due_at, clock_timestamp() + m.wait)
    from (select distinct target_id, places, wait from matched) m
    where t.tenant_id = $1 and t.id = m.target_id returning t.id, t.last_seq - m.places as before
  ), made as (
    insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at, trace)
    select $1, m.target_id, m.id, b.before + m.place, m.kind, m.payload, m.created_at,
      clock_timestamp() + m.wait, m.trace
    from matched m join bumped b on b.id = m.target_id order by m.id
    on conflict (tenant_id, target_id, event_id) do nothing
  ), gone as (
    delete from fan_out_queue q using due where q.tenant_id = $1 and q.event_id = due.event_id
  ) select (select count(*)::integer from due) as events`;

/** Blocks the fan-out of a tenant until the change is committed. */
export async function lockFanOut(change: Change, tenantId: number): Promise<void> {
  await change.execute(`select pg_advisory_xact_lock(${lockClass}, $1)`, [tenantId]);
}

/**
 * @param waits retry delays of all channels; the first delay of each is applied here
 * @param failed called when PostgreSQL rejects the batch of one tenant; the other tenants are handled all the same
 * @returns whether there may be more
 */
export async function fanOut(
  database: Database,
  waits: RetryDelays,
  failed: (tenantId: number, error: unknown) => void,
): Promise<boolean> {
  const firstWaits = Object.entries(waits).map(([channel, seconds]) => [channel, seconds[0] ?? 0]);
  const firstWaitOf = JSON.stringify(Object.fromEntries(firstWaits));
  const tenants = await database.read<{ tenant_id: number }>(platform, {
    name: "deliveries.queued_tenants",
    byIndex: true,
    text: tenantsText,
    values: [],
  });
  let more = tenants.length === tenantsMax;
  for (const { tenant_id: tenantId } of tenants) {
    try {
      const done = await database.writeOne<{ events: number }>(platform, caller, {
        name: "deliveries.fan_out",
        byIndex: true,
        text: fanOutText,
        values: [tenantId, firstWaitOf],
      });
      if (done?.events === eventsMax) more = true;
    } catch (error) {
      // An error without a severity does not come from the server: the connection is gone, and the other tenants would fail too.
      if (!(error instanceof Error) || !("severity" in error)) throw error;
      failed(tenantId, error);
    }
  }
  return more;
}

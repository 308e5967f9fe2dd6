// Writes one entry for refusals that were repeated, when their period is over; and one for the number of
// entries left out, after a day on which a tenant exceeded a limit. Runs every minute in one process. The
// counts are in the database, so nothing is lost when a process dies.
import type { AuditChanges } from "../shared/audit-changes.ts";
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import { secondsMax } from "../shared/limits/audit-refusal.ts";
import { takeRefusalEntry } from "../shared/limits/refusal-entries.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { toIso } from "../shared/wire.ts";
import type { RowOf } from "../shared/database/row.ts";

const batch = 200;
const batchesMax = 100;
const tenantsMax = 1_000;
const countsKeptDays = 90;
const service = Caller.system("audit");

/** The job `audit.sum_up`. At most `tenantsMax` tenants per run. */
export async function sumUpRepeats(this: { runtime: Runtime }): Promise<void> {
  const { runtime } = this;
  const { database } = runtime;
  for (const tenantId of await tenantsWith(database, "audit_repeats where ends_at <= now()")) {
    await forTenant(database, tenantId, (change) => summarise(change, runtime, tenantId));
  }
  const unreported =
    "daily_counts where day < (now() at time zone 'utc')::date and taken > bound and told_at is null";
  for (const tenantId of await tenantsWith(database, unreported))
    await forTenant(database, tenantId, (change) => auditLeftOut(change, tenantId));
  await database.write(platform, service, {
    name: "audit.sweep_counts",
    text: `delete from daily_counts where day < (now() at time zone 'utc')::date - ${countsKeptDays}`,
    values: [],
  });
}

/** @param rows a table with a condition */
async function tenantsWith(database: Database, rows: string): Promise<number[]> {
  const tenants = await database.read<{ tenant_id: number }>(platform, {
    text: `select distinct tenant_id from ${rows} order by tenant_id limit ${tenantsMax}`,
    values: [],
  });
  return tenants.map(({ tenant_id: tenantId }) => tenantId);
}

function forTenant(
  database: Database,
  tenantId: number,
  work: (change: Change) => Promise<number>,
): Promise<void> {
  return inBatches({ rowsMax: batch, batchesMax }, () => database.change({ tenantId }, service, work));
}

type Repeats = RowOf<
  "audit_repeats",
  | "key"
  | "user_id"
  | "action"
  | "target_type"
  | "target_id"
  | "outcome"
  | "changes"
  | "ip"
  | "user_agent"
  | "request_id"
  | "times"
  | "first_at"
  | "last_at",
  { outcome: "denied"; changes: AuditChanges; request_id: string; first_at: string; last_at: string }
>;

/** @returns the number of rows processed */
async function summarise(change: Change, runtime: Runtime, tenantId: number): Promise<number> {
  const rows = await change.execute<Repeats>(
    `select key, user_id, action, target_type, target_id, outcome, changes, ip, user_agent, request_id, times, first_at,
       last_at from audit_repeats where tenant_id = $1 and ends_at <= now() order by key limit ${batch}
     for update skip locked`,
    [tenantId],
  );
  const repeated = rows.filter(({ times }) => times > 0);
  for (const row of repeated) {
    const entry = { tenantId, userId: row.user_id, action: row.action };
    if (await takeRefusalEntry(change, runtime, entry, row.times)) auditSum(change, tenantId, row);
  }
  const keys = (of: readonly Repeats[]) => [tenantId, of.map(({ key }) => key)];
  await change.execute(
    "delete from audit_repeats where tenant_id = $1 and key = any($2::bytea[])",
    keys(rows.filter(({ times }) => times === 0)),
  );
  await change.execute(
    `update audit_repeats set times = 0, first_at = null, last_at = null, seconds = least(seconds * 2, ${secondsMax}),
       ends_at = clock_timestamp() + make_interval(secs => least(seconds * 2, ${secondsMax}))
     where tenant_id = $1 and key = any($2::bytea[])`,
    keys(repeated),
  );
  return rows.length;
}

function auditSum(change: Change, tenantId: number, row: Repeats): void {
  const { action, outcome, changes, times, ip, user_agent: userAgent, request_id: requestId } = row;
  const { target_type: type, target_id: id } = row;
  const moments = { first_at: toIso(row.first_at), last_at: toIso(row.last_at) };
  change.audit({
    tenantId,
    action,
    outcome,
    changes: { ...changes, times, ...moments },
    ...(type === null || id === null ? {} : { target: { type, id } }),
    ...(row.user_id === null ? {} : { userId: row.user_id }),
    origin: { ip, userAgent, requestId },
  });
}

/** @returns the number of rows processed */
async function auditLeftOut(change: Change, tenantId: number): Promise<number> {
  const rows = await change.execute<
    RowOf<"daily_counts", "kind" | "bound", { day: string; left_out: string }>
  >(
    `update daily_counts set told_at = clock_timestamp() where (tenant_id, kind, day) in (
       select tenant_id, kind, day from daily_counts where tenant_id = $1 and told_at is null and taken > bound
         and day < (now() at time zone 'utc')::date order by day, kind limit ${batch} for update skip locked)
     returning kind, day::text as day, bound, taken - bound as left_out`,
    [tenantId],
  );
  for (const { kind, day, bound, left_out: times } of rows)
    change.audit({
      tenantId,
      action: "limit.exceed",
      outcome: "error",
      changes: { limit: kind, day, bound: Number(bound), times: Number(times) },
    });
  return rows.length;
}

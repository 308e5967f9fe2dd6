// Detects a log that grows much faster than any clinic's: by permitted reads and changes, which a thief's
// script or a faulty client makes too. Nothing is refused, because every action must be recorded, but an
// incident is opened so that a person looks at it. Runs hourly, with one index look-up per tenant.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

/** Ten times the reads of a clinic with a thousand users who each read a hundred patients a day. */
const entriesPerDay = 1_000_000;
const limit = "audit.entries";
const today = "(now() at time zone 'utc')::date";

/** The hourly job `audit.measure`. */
export async function measureLogs(this: { runtime: Runtime }): Promise<void> {
  const { database, log } = this.runtime;
  await database.change(platform, Caller.system("audit"), async (change) => {
    const grown = await change.execute<
      RowOf<
        "daily_counts",
        "tenant_id",
        { day: string; entries: Column<"daily_counts", "taken">; fresh: boolean }
      >
    >(
      `insert into daily_counts as d (tenant_id, kind, day, taken, bound, reached_at, last_at)
       select h.tenant_id, $2, ${today}, h.seq - first.seq + 1, $1, now(), now()
       from audit_heads h join tenants t on t.id = h.tenant_id
       cross join lateral (select e.seq from audit_entries e
         where e.tenant_id = h.tenant_id and e.created_at >= ${today}::timestamp at time zone 'utc'
         order by e.created_at, e.id limit 1) first
       where h.seq - first.seq + 1 > $1 order by h.tenant_id
       on conflict (tenant_id, kind, day) do update set taken = excluded.taken, last_at = now()
       returning tenant_id, day::text as day, taken as entries, xmax = 0 as fresh`,
      [entriesPerDay, limit],
    );
    for (const { tenant_id: tenantId, day, fresh } of grown) {
      if (!fresh) continue;
      log.error({ tenantId, limit, bound: entriesPerDay }, "an audit log grows out of all proportion");
      const changes = { limit, bound: entriesPerDay, day };
      change.audit({ tenantId, action: "limit.reach", outcome: "error", changes });
    }
  });
}

// Detects differences between `user_counts` and a count of the users. One statement reads both in one
// snapshot, so a concurrent change is in both or in neither and causes no false positive.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Remedy } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";

/** Tenants per detection run. The next run continues after the last one. */
const tenantsMax = 100;
/** The first part of the two-part advisory lock keys. The second part is the tenant's id. */
const lockClass = 0x0fa7;

const differences = (tenants: string) => `select coalesce(c.tenant_id, u.tenant_id) as tenant_id,
    coalesce(c.role, u.role) as role, coalesce(c.is_active, u.is_active) as is_active,
    coalesce(u.users, 0) - coalesce(c.users, 0) as difference
  from (select * from user_counts where tenant_id in (${tenants})) c
  full join (select tenant_id, role, is_active, count(*)::integer as users from users
      where deleted_at is null and tenant_id in (${tenants}) group by 1, 2, 3) u
    on u.tenant_id = c.tenant_id and u.role = c.role and u.is_active = c.is_active
  where coalesce(u.users, 0) <> coalesce(c.users, 0)`;

interface Row {
  last: number | null;
  looked: number;
  faults: { tenant_id: number; counters: number; users: number }[];
}

/**
 * The remedy `user_counts_differ`: its target is `tenant:<id>`, its evidence the wrong counters and the sum
 * of their errors.
 */
export const userCountsDiffer: Remedy = {
  async find(site, { target, cursor }) {
    const one = target === undefined ? null : (numberIn("tenant", target) ?? 0);
    const row = await site.db.readOne<Row>(platform, {
      name: "users.counts_differ",
      text: `with looked as materialized (select id from tenants where ($1::integer is null or id = $1)
          and id > $2 order by id limit ${tenantsMax}),
        faults as (select tenant_id, count(*)::integer as counters, sum(abs(difference))::integer as users
          from (${differences("select id from looked")}) d group by tenant_id)
        select (select max(id) from looked) as last, (select count(*)::integer from looked) as looked,
          (select coalesce(json_agg(faults order by tenant_id), '[]') from faults) as faults`,
      values: [one, one === null ? Number(cursor ?? 0) : 0],
    });
    if (row === undefined) return { found: [] };
    return {
      found: row.faults.map(({ tenant_id: tenantId, counters, users }) => ({
        target: `tenant:${tenantId}`,
        tenantId,
        evidence: { counters, users },
      })),
      targets: row.looked,
      cursor: row.looked === tenantsMax ? String(row.last) : null,
    };
  },
  wouldDo: ({ evidence }) =>
    `Would correct ${String(evidence["counters"])} counters, which are wrong by ${String(evidence["users"])} users together.`,
  async heal(site, target) {
    const tenantId = numberIn("tenant", target) ?? 0;
    return site.db.change({ tenantId }, Caller.system("users"), async (change) => {
      // Two concurrent runs would add the same difference twice.
      await change.execute(`select pg_advisory_xact_lock(${lockClass}, $1)`, [tenantId]);
      const corrected = await change.execute(
        `insert into user_counts as c (tenant_id, role, is_active, users)
         select tenant_id, role, is_active, difference from (${differences("$1")}) d
         on conflict (tenant_id, role, is_active) do update set users = c.users + excluded.users returning role`,
        [tenantId],
      );
      return { counters: corrected.length };
    });
  },
};

// Purges deleted tenants after the retention.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { RowOf } from "../shared/database/row.ts";

const purgesMax = 50;

/**
 * The job `tenants.purge`: one tenant per transaction. Users, departments and sessions are deleted by
 * cascade; the audit log stays.
 */
export async function purgeTenants(this: { runtime: Runtime }): Promise<void> {
  const { config, database } = this.runtime;
  await inBatches({ rowsMax: 1, batchesMax: purgesMax }, () =>
    database.change(platform, Caller.system("tenants"), async (change) => {
      const [gone] = await change.execute<RowOf<"tenants", "id">>(
        `delete from tenants where id = (select id from tenants where deleted_at < now() - make_interval(days => $1)
           order by deleted_at limit 1 for update skip locked) returning id`,
        [config.retentionDays],
      );
      if (gone !== undefined) {
        change.audit({ tenantId: gone.id, action: "tenant.purge", target: { type: "tenant", id: gone.id } });
      }
      return gone === undefined ? 0 : 1;
    }),
  );
}

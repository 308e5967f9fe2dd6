// The end of deleted users: their rows (and with them sessions, preferences, mail tokens) go after the retention, in
// batches so that no transaction grows with the number of them.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../shared/runtime.ts";

const batch = 500;
const batchesMax = 200;

export async function purgeDeletedUsers(this: { runtime: Runtime }): Promise<void> {
  const { config, database } = this.runtime;
  for (let done = 0; done < batchesMax; done++) {
    const purged = await database.change(platform, Caller.system("users"), async (change) => {
      const rows = await change.execute<{ tenant_id: number; id: number }>(
        `delete from users where id in (select id from users
           where deleted_at < now() - make_interval(days => $1) order by deleted_at limit ${batch} for update skip locked)
         returning tenant_id, id`,
        [config.retentionDays],
      );
      for (const { tenant_id: tenantId, id } of rows) {
        change.audit({ tenantId, action: "user.purge", target: { type: "user", id } });
      }
      return rows.length;
    });
    if (purged < batch) return;
  }
}

// Purges users after the retention: deleted users, and registrations whose address nobody verified and no
// administrator approved. Their sessions, preferences and mail tokens are deleted with them. Batches bound
// the size of a transaction.
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const batch = 500;
const batchesMax = 200;

const deleted = `select id from users where deleted_at < now() - make_interval(days => $1)
  order by deleted_at limit ${batch} for update skip locked`;
const unverified = `select u.id from registrations r join users u on u.tenant_id = r.tenant_id and u.id = r.user_id
  where r.created_at < now() - make_interval(days => $1) and not r.settled and not u.email_verified
    and u.deleted_at is null
  order by r.created_at limit ${batch} for update of u, r skip locked`;

/**
 * The job `users.purge`. At most `batch` × `batchesMax` users of each kind per run; the next run continues.
 */
export async function purgeDeletedUsers(this: { runtime: Runtime }): Promise<void> {
  await purge(this.runtime, deleted);
  // Deleted users were published as `user.deleted` when they were deleted; these were not.
  await purge(this.runtime, unverified, (change, tenantId, id) =>
    change.publishEvent({ tenantId, kind: "user.deleted", payload: { user_id: id } }),
  );
}

async function purge(
  { config, database }: Runtime,
  which: string,
  also: (change: Change, tenantId: number, id: number) => void = () => undefined,
): Promise<void> {
  await inBatches({ rowsMax: batch, batchesMax }, () =>
    database.change(platform, Caller.system("users"), async (change) => {
      const rows = await change.execute<{ tenant_id: number; id: number }>(
        `delete from users where id in (${which}) returning tenant_id, id`,
        [config.retentionDays],
      );
      for (const { tenant_id: tenantId, id } of rows) {
        change.audit({ tenantId, action: "user.purge", target: { type: "user", id } });
        also(change, tenantId, id);
      }
      return rows.length;
    }),
  );
}

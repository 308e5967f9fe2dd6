// The end of deleted users, and of registrations whose address nobody verified and no administrator took up: their rows (and
// with them sessions, preferences, mail tokens) go after the retention, in batches so that no transaction grows with the
// number of them.
import { Caller } from "../shared/caller.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const batch = 500;
const batchesMax = 200;

const deleted = `select id from users where deleted_at < now() - make_interval(days => $1)
  order by deleted_at limit ${batch} for update skip locked`;
const unverified = `select u.id from registrations r join users u on u.tenant_id = r.tenant_id and u.id = r.user_id
  where r.created_at < now() - make_interval(days => $1) and not r.settled and not u.email_verified
    and u.deleted_at is null
  order by r.created_at limit ${batch} for update of u, r skip locked`;

export async function purgeDeletedUsers(this: { runtime: Runtime }): Promise<void> {
  await purge(this.runtime, deleted);
  // Of these nobody was told yet that they are gone.
  await purge(this.runtime, unverified, (change, tenantId, id) =>
    change.publishEvent({ tenantId, kind: "user.deleted", payload: { user_id: id } }),
  );
}

async function purge(
  { config, database }: Runtime,
  which: string,
  also: (change: Change, tenantId: number, id: number) => void = () => undefined,
): Promise<void> {
  for (let done = 0; done < batchesMax; done++) {
    const purged = await database.change(platform, Caller.system("users"), async (change) => {
      const rows = await change.execute<{ tenant_id: number; id: number }>(
        `delete from users where id in (${which}) returning tenant_id, id`,
        [config.retentionDays],
      );
      for (const { tenant_id: tenantId, id } of rows) {
        change.audit({ tenantId, action: "user.purge", target: { type: "user", id } });
        also(change, tenantId, id);
      }
      return rows.length;
    });
    if (purged < batch) return;
  }
}

// Deletes a backup. It leaves the list with the answer; a job deletes its objects, the manifest first, so
// that no manifest exists without its archive. The key is deleted last, and with it the data keys that only
// this backup needed.
import type { ServiceBroker } from "moleculer";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { administeredScope } from "../shared/administered-scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import { dataKeyOf, manifestKeyOf } from "./archive/manifest.ts";
import { ArchiveKeyring } from "./archive-keyring.ts";
import { underWay } from "./job.rules.ts";
import { system } from "./job-store.ts";
import { auditTenantOf } from "./audit-tenant.ts";
import type { RowOf } from "../shared/database/row.ts";

const inUse = () =>
  new Conflict("backup_in_use", "A job is working with this backup; wait until it has ended");

/** @throws NotFound, Conflict `backup_in_use` */
export async function removeBackup(call: Call<{ backup_id: string }>): Promise<{ deleted: boolean }> {
  const { backup_id: id } = call.params;
  const reach = administeredScope(call.caller);
  const tenantId = reach === "platform" ? null : reach.tenantId;
  await call.db.change(platform, call.caller, async (change) => {
    const [backup] = await change.execute<RowOf<"backups", "tenant_id">>(
      `select tenant_id from backups where id = $1 and state = 'complete' and ($2::integer is null or tenant_id = $2)
       for update`,
      [id, tenantId],
    );
    const [job] = await change.execute(
      `select from backup_jobs where (backup_id = $1 or safety_backup_id = $1) and status = any($2)
         and ($3::integer is null or tenant_id = $3) limit 1`,
      [id, underWay, tenantId],
    );
    if (job !== undefined) throw inUse();
    if (backup === undefined) throw new NotFound("Backup");
    await beginRemoval(change, id);
    const logged = (await auditTenantOf(change, backup.tenant_id)) ?? (await auditTenantOf(change, null));
    if (logged !== undefined)
      change.audit({ tenantId: logged, action: "backup.delete", target: { type: "backup", id } });
  });
  return { deleted: true };
}

/** Marks the backup and enqueues the deletion of its objects, in the caller's transaction. */
export async function beginRemoval(change: Change, id: string): Promise<void> {
  await change.execute("update backups set state = 'removing' where id = $1", [id]);
  await change.enqueue("backups.remove", { backup_id: id }, { key: `backups.remove:${id}` });
}

/** The job `backups.remove`. Each step can be repeated. */
export async function removeObjects(
  this: { broker: ServiceBroker; runtime: Runtime },
  payload: unknown,
): Promise<void> {
  const { backup_id: id } = payload as { backup_id: string };
  const store = storeOf(this.runtime);
  await store.remove(manifestKeyOf(id));
  await store.remove(dataKeyOf(id));
  await new ArchiveKeyring(this.broker).drop(id);
  await this.runtime.database.write(platform, system, {
    name: "backups.forget",
    text: "delete from backups where id = $1 and state = 'removing'",
    values: [id],
  });
}

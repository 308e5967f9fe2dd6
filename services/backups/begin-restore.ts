// Answers `backups.restore`: a plan without confirmation, a job with it.
import { randomUUID } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import type { ParamsOf, ValueOf } from "../shared/params/types.ts";
import type { backupsContract } from "./backups.contract.ts";
import { newBackupId, wantedBy } from "./begin-backup.ts";
import { beginJob } from "./begin-job.ts";
import { findBackup } from "./find-backup.ts";
import type { NewJob } from "./job-store.ts";
import type { Plans } from "./plan-restore.ts";
import { publishSuspicion } from "../../mixins/healing/publish-suspicion.ts";

type Contract = (typeof backupsContract)["backups.restore"];
type Restore = ValueOf<Contract["result"]>;

/**
 * @throws NotFound, Conflict `full_restore_offline`, `tenant_gone` or `backup_in_use`, Unavailable
 * `plan_unfinished`
 */
export async function restoreBackup(call: Call<ParamsOf<Contract>>, plans: Plans): Promise<Restore> {
  const { backup_id: id, type, confirm } = call.params;
  const { tenant_id: tenantId } = await findBackup(call, id, type);
  if (tenantId === null)
    throw new Conflict(
      "full_restore_offline",
      "A full backup is restored into an empty database by `npm run restore`",
    );
  const [tenant] = await call.db.read(platform, {
    name: "backups.tenant_is_there",
    text: "select from tenants where id = $1 and deleted_at is null",
    values: [tenantId],
  });
  if (tenant === undefined)
    throw new Conflict("tenant_gone", "The tenant of the backup does not exist any more");
  if (confirm !== true) {
    const tables = await plans.of(id, tenantId).catch((error: unknown) => {
      if (error instanceof NotFound) publishSuspicion(call, "backup_object_missing");
      throw error;
    });
    return { plan: { tables }, applied: false };
  }
  return begin(call, id, tenantId);
}

async function begin(call: Call<unknown>, backupId: string, tenantId: number): Promise<Restore> {
  const job: NewJob = {
    id: randomUUID(),
    kind: "restore",
    type: "tenant",
    tenantId,
    backupId,
    reason: "manual",
    safetyBackupId: newBackupId(),
    ...wantedBy(call.caller),
  };
  const changes = { job_id: job.id, safety_backup_id: job.safetyBackupId };
  const assert = (change: PlainChange) => assertThere(change, backupId);
  await beginJob(call, { job, leaves: "safety", action: "backup.restore", changes, assert });
  return { applied: false, job_id: job.id, backup_id: backupId, type: "tenant", status: "queued" };
}

/** Locks the backup against a concurrent deletion. */
async function assertThere(change: PlainChange, backupId: string): Promise<void> {
  const text = "select from backups where id = $1 and state = 'complete' for share";
  const found = await change.execute(text, [backupId]);
  if (found.length === 0) throw new Conflict("backup_in_use", "The backup is being deleted");
}

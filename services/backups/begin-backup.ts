// Starts a backup of everything or of one tenant.
import { randomUUID } from "node:crypto";
import { roleOf } from "../shared/access.ts";
import type { Call } from "../shared/bus/bus.ts";
import type { Caller } from "../shared/caller.ts";
import { Forbidden, Invalid } from "../shared/errors.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { ownTenant } from "../shared/administered-scope.ts";
import type { backupsContract } from "./backups.contract.ts";
import { beginJob } from "./begin-job.ts";
import type { NewJob } from "./job-store.ts";
import type { BackupType } from "./table-decisions.ts";

type Begun = ValueOf<(typeof backupsContract)["backups.create"]["result"]>;

/** A new random id. */
export const newBackupId = (): string => `bk_${randomUUID().replaceAll("-", "")}`;

/** The requester, for the job's row. */
export const wantedBy = ({ principal }: Caller): Pick<NewJob, "createdBy" | "operator"> => ({
  createdBy: principal.kind === "user" ? principal.userId : null,
  operator: principal.kind === "operator" ? principal.name : null,
});

/**
 * Starts a backup of the caller's tenant, or a full one for a superadmin.
 * @throws Forbidden `full_backup`, Conflict `backup_job_running` or `too_many_backups`, TooManyRequests
 */
export function createBackup(call: Call<{ type?: BackupType | null }>): Promise<Begun> {
  const isSuperadmin = roleOf(call.caller) === "superadmin";
  const type = call.params.type ?? (isSuperadmin ? "full" : "tenant");
  if (type === "full" && !isSuperadmin)
    throw new Forbidden("full_backup", "A full backup is for superadmins alone");
  return begin(call, type, ownTenant(call.caller));
}

/** The same for operators, who have no tenant and may name any. */
export function makeAny(call: Call<{ type?: BackupType | null; tenant_id?: number | null }>): Promise<Begun> {
  const { tenant_id: tenantId, type = tenantId == null ? "full" : "tenant" } = call.params;
  return begin(call, type ?? "full", tenantId ?? undefined);
}

async function begin(call: Call<unknown>, type: BackupType, tenantId: number | undefined): Promise<Begun> {
  if (type === "tenant" && tenantId === undefined) throw Invalid.body("tenant_id", "name the tenant");
  const job: NewJob = {
    id: randomUUID(),
    kind: "backup",
    type,
    tenantId: type === "full" ? null : (tenantId ?? null),
    backupId: newBackupId(),
    reason: "manual",
    ...wantedBy(call.caller),
  };
  const changes = { job_id: job.id, type };
  await beginJob(call, { job, leaves: "manual", action: "backup.create", changes });
  return { job_id: job.id, backup_id: job.backupId, type, status: "queued" };
}

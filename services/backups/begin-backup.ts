// Beginning a backup: a job, and the entry that says who wanted it, in one transaction.
import { randomUUID } from "node:crypto";
import { roleOf } from "../shared/access.ts";
import type { Call } from "../shared/bus.ts";
import type { Caller } from "../shared/caller.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, Forbidden, Invalid, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { ownTenant } from "../shared/reach.ts";
import type { backupsContract } from "./backups.contract.ts";
import { insertJob, type NewJob } from "./job-store.ts";
import type { BackupType } from "./table-decisions.ts";
import { whoseLog } from "./whose-log.ts";

type Begun = ValueOf<(typeof backupsContract)["backups.create"]["result"]>;

const manualMax = 100;

export const newBackupId = (): string => `bk_${randomUUID().replaceAll("-", "")}`;

/** Who wanted it, for the row of the job. */
export const wantedBy = ({ principal }: Caller): Pick<NewJob, "createdBy" | "operator"> => ({
  createdBy: principal.kind === "user" ? principal.userId : null,
  operator: principal.kind === "operator" ? principal.name : null,
});

export const jobViolations = {
  backup_jobs_one_at_a_time: () =>
    new Conflict("backup_job_running", "A backup or a restore is under way; wait until it has ended"),
};

export function createBackup(call: Call<{ type?: BackupType | null }>): Promise<Begun> {
  const isSuperadmin = roleOf(call.caller) === "superadmin";
  const type = call.params.type ?? (isSuperadmin ? "full" : "tenant");
  if (type === "full" && !isSuperadmin)
    throw new Forbidden("full_backup", "A full backup is for superadmins alone");
  return begin(call, type, ownTenant(call.caller));
}

/** For operators, who have no tenant of their own. */
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
  const beginning = call.db.change(platform, call.caller, async (change) => {
    const logged = await whoseLog(change, job.tenantId);
    if (logged === undefined) throw new NotFound("Tenant");
    await assertRoom(change, job.tenantId);
    await insertJob(change, job);
    change.audit({
      tenantId: logged,
      action: "backup.create",
      target: { type: "backup", id: job.backupId },
      changes: { job_id: job.id, type },
    });
  });
  await mapViolations(jobViolations, beginning);
  return { job_id: job.id, backup_id: job.backupId, type, status: "queued" };
}

/** What people make stays until people delete it; so there is an end to it. */
async function assertRoom(change: PlainChange, tenantId: number | null): Promise<void> {
  const [row] = await change.execute<{ made: number }>(
    `select count(*)::integer as made from backups
     where tenant_id is not distinct from $1 and reason = 'manual' and state = 'complete'`,
    [tenantId],
  );
  if ((row?.made ?? 0) >= manualMax)
    throw new Conflict("too_many_backups", `There are ${manualMax} backups made by hand: delete one first`);
}

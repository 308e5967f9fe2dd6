// Starts a requested job: the job and the audit entry are written in one transaction. Requested archives are
// kept for long, and each job reads a whole tenant, so the numbers of both are limited.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { Call } from "../shared/bus/bus.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import { takeDaily, tooManyToday } from "../shared/limits/daily-limit.ts";
import { insertJob, type NewJob } from "./job-store.ts";
import { auditTenantOf } from "./audit-tenant.ts";

/** Per tenant, and for full backups. */
const archivesMax = { manual: 100, safety: 50 } as const;

const tooMany = {
  manual: `There are ${archivesMax.manual} backups made by hand: delete one first`,
  safety: `There are ${archivesMax.safety} backups that restores made for safety: delete one first`,
} as const;

const jobViolations = {
  backup_jobs_one_at_a_time: () =>
    new Conflict("backup_job_running", "A backup or a restore is under way; wait until it has ended"),
};

/** A job to start. */
export interface JobRequest {
  job: NewJob;
  /** The kind of archive that it creates. */
  leaves: keyof typeof archivesMax;
  action: "backup.create" | "backup.restore";
  changes: AuditChanges;
  /** An additional check in the same transaction, before anything is written. */
  assert?: (change: PlainChange) => Promise<void>;
}

/**
 * @throws TooManyRequests, Conflict `backup_job_running` or `too_many_backups`, NotFound; then there is no
 * job
 */
export async function beginJob(call: Call<unknown>, request: JobRequest): Promise<void> {
  const { job, leaves, action, changes, assert } = request;
  const isWithin = call.db.change(platform, call.caller, async (change) => {
    const logged = await auditTenantOf(change, job.tenantId);
    if (logged === undefined) throw new NotFound("Tenant");
    await assert?.(change);
    await assertBelowMaximum(change, job.tenantId, leaves);
    // Commits only the count.
    if (!(await takeDaily(change, call.runtime, logged, "backups.begun"))) return false;
    await insertJob(change, job);
    change.audit({ tenantId: logged, action, target: { type: "backup", id: job.backupId }, changes });
    return true;
  });
  if (!(await mapViolations(jobViolations, isWithin))) throw tooManyToday();
}

async function assertBelowMaximum(
  change: PlainChange,
  tenantId: number | null,
  reason: keyof typeof archivesMax,
): Promise<void> {
  const row = await change.one<{ made: number }>(
    `select count(*)::integer as made from backups
     where tenant_id is not distinct from $1 and reason = $2 and state = 'complete'`,
    [tenantId, reason],
  );
  if (row.made >= archivesMax[reason]) throw new Conflict("too_many_backups", tooMany[reason]);
}

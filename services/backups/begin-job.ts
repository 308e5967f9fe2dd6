// Beginning what a person wants done: the job, and the entry that says who wanted it, in one transaction. Archives that people's
// wishes leave behind stay for long, and each job reads a whole tenant, so both are bounded.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { Call } from "../shared/bus/bus.ts";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import { takeDaily, tooManyToday } from "../shared/limits/daily-limit.ts";
import { insertJob, type NewJob } from "./job-store.ts";
import { whoseLog } from "./whose-log.ts";

/** Of one tenant, or of everything, at a time. */
const archivesMax = { manual: 100, safety: 50 } as const;

const tooMany = {
  manual: `There are ${archivesMax.manual} backups made by hand: delete one first`,
  safety: `There are ${archivesMax.safety} backups that restores made for safety: delete one first`,
} as const;

const jobViolations = {
  backup_jobs_one_at_a_time: () =>
    new Conflict("backup_job_running", "A backup or a restore is under way; wait until it has ended"),
};

export interface Beginning {
  job: NewJob;
  /** What it leaves for good. */
  leaves: keyof typeof archivesMax;
  action: "backup.create" | "backup.restore";
  changes: AuditChanges;
  /** In the same transaction, before anything is written. */
  assert?: (change: PlainChange) => Promise<void>;
}

/** @throws TooManyRequests, Conflict or NotFound; then there is no job */
export async function beginJob(call: Call<unknown>, beginning: Beginning): Promise<void> {
  const { job, leaves, action, changes, assert } = beginning;
  const isWithin = call.db.change(platform, call.caller, async (change) => {
    const logged = await whoseLog(change, job.tenantId);
    if (logged === undefined) throw new NotFound("Tenant");
    await assert?.(change);
    await assertRoom(change, job.tenantId, leaves);
    // Commits what it counted, and nothing else.
    if (!(await takeDaily(change, call.runtime, logged, "backups.begun"))) return false;
    await insertJob(change, job);
    change.audit({ tenantId: logged, action, target: { type: "backup", id: job.backupId }, changes });
    return true;
  });
  if (!(await mapViolations(jobViolations, isWithin))) throw tooManyToday();
}

async function assertRoom(
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

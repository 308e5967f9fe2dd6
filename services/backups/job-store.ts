// The stored jobs. A worker holds a lease on its job, and all its writes require the lease. So of two workers
// that believe to hold it, only one can write.
import { Caller } from "../shared/caller.ts";
import type { PlainChange } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { before, type Failure, type JobStatus, underWay } from "./job.rules.ts";
import type { BackupType } from "./table-decisions.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

export const leaseSeconds = 30;

type JobKind = "backup" | "restore" | "test";
export type Reason = "manual" | "nightly" | "safety";

export interface Job {
  id: string;
  kind: JobKind;
  type: BackupType;
  tenantId: number | null;
  backupId: string;
  reason: Reason;
  safetyBackupId: string | null;
  tries: number;
  createdBy: number | null;
  operator: string | null;
}

export interface NewJob extends Omit<Job, "tries" | "safetyBackupId"> {
  safetyBackupId?: string | null;
}

type Row = RowOf<
  "backup_jobs",
  | "id"
  | "kind"
  | "type"
  | "tenant_id"
  | "backup_id"
  | "reason"
  | "safety_backup_id"
  | "tries"
  | "created_by"
  | "operator"
>;

/** Whether the schedule started it, so that no person waits for it. */
export const isScheduled = ({ kind, reason }: Pick<Job, "kind" | "reason">) =>
  kind === "test" || reason === "nightly";

export const system = Caller.system("backups");
const active = `status in (${underWay.map((status) => `'${status}'`).join(", ")})`;

/**
 * Inserts and enqueues a job in the caller's transaction.
 * @throws the violation of `backup_jobs_one_at_a_time`
 */
export async function insertJob(change: PlainChange, job: NewJob): Promise<void> {
  await change.execute(
    `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason, safety_backup_id, created_by, operator)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      job.id,
      job.kind,
      job.type,
      job.tenantId,
      job.backupId,
      job.reason,
      job.safetyBackupId ?? null,
      job.createdBy,
      job.operator,
    ],
  );
  await change.enqueue("backups.run", { job_id: job.id }, { key: `backups.run:${job.id}` });
}

/** Acquires the lease. @returns undefined when the job has ended, or another worker holds the lease */
export async function leaseJob(database: Database, id: string, worker: string): Promise<Job | undefined> {
  const row = await database.writeOne<Row>(platform, system, {
    name: "backups.lease_job",
    text: `update backup_jobs set status = 'running', leased_by = $2, tries = tries + 1,
        leased_until = now() + interval '${leaseSeconds} seconds', started_at = coalesce(started_at, now()),
        step = 'starting', percent = 0, rows_done = 0, bytes_done = 0
      where id = $1 and ${active} and (leased_until is null or leased_until < now())
      returning id, kind, type, tenant_id, backup_id, reason, safety_backup_id, tries, created_by, operator`,
    values: [id, worker],
  });
  return row && toJob(row);
}

function toJob(row: Row): Job {
  return {
    id: row.id,
    kind: row.kind,
    type: row.type,
    tenantId: row.tenant_id,
    backupId: row.backup_id,
    reason: row.reason,
    safetyBackupId: row.safety_backup_id,
    tries: row.tries,
    createdBy: row.created_by,
    operator: row.operator,
  };
}

export interface JobProgress {
  status: "running" | "verifying";
  step: string;
  percent: number;
  rows: number;
  bytes: number;
}

/** Renews the lease and stores the progress. @returns false when the lease was lost */
export async function renewJob(
  database: Database,
  id: string,
  worker: string,
  at: JobProgress,
): Promise<boolean> {
  const kept = await database.write(platform, system, {
    name: "backups.keep_job",
    text: `update backup_jobs set leased_until = now() + interval '${leaseSeconds} seconds', status = $3, step = $4,
        percent = $5, rows_done = $6, bytes_done = $7
      where id = $1 and leased_by = $2 and ${active} returning id`,
    values: [id, worker, at.status, at.step, at.percent, at.rows, at.bytes],
  });
  return kept.length === 1;
}

/**
 * The id for the safety backup. If an earlier attempt has listed one, it is kept, and the current state, with
 * everything written since, gets a new id.
 * @returns the id to use
 * @throws Error when the worker does not hold the lease any more
 */
export async function nameSafetyBackup(
  database: Database,
  id: string,
  worker: string,
  fresh: string,
): Promise<string> {
  const row = await database.writeOne<{ safety: NonNullable<Column<"backup_jobs", "safety_backup_id">> }>(
    platform,
    system,
    {
      name: "backups.name_safety",
      text: `update backup_jobs j set safety_backup_id = case
          when exists (select from backups b where b.id = j.safety_backup_id) then $3 else j.safety_backup_id end
      where id = $1 and leased_by = $2 and ${active} and safety_backup_id is not null
      returning safety_backup_id as safety`,
      values: [id, worker, fresh],
    },
  );
  if (row === undefined) throw new Error("another worker has the job");
  return row.safety;
}

/**
 * Enqueues the removal of the objects and keys that the attempts of a failed job may have left in the store.
 */
export async function removeUnlisted(change: PlainChange, jobId: string): Promise<void> {
  const left = await change.execute<{ id: string }>(
    `select id from (select unnest(array[case kind when 'backup' then backup_id end, safety_backup_id]) as id
       from backup_jobs where id = $1) made
     where id is not null and not exists (select from backups b where b.id = made.id)`,
    [jobId],
  );
  for (const { id } of left)
    await change.enqueue("backups.remove", { backup_id: id }, { key: `backups.remove:${id}` });
}

/** Ends a job. @returns false when the lease was lost; then the transaction must not commit */
export async function endJob(
  change: PlainChange,
  id: string,
  worker: string,
  status: Extract<JobStatus, "succeeded" | "failed">,
  failure?: Failure,
): Promise<boolean> {
  const ended = await change.execute(
    `update backup_jobs set status = $3, percent = case $3 when 'succeeded' then 100 else percent end,
       step = case $3 when 'succeeded' then 'done' else step end, error_code = $4, error = $5, finished_at = now(),
       leased_by = null, leased_until = null
     where id = $1 and leased_by = $2 and status = any($6) returning id`,
    [id, worker, status, failure?.code ?? null, failure?.sentence ?? null, before(status)],
  );
  return ended.length === 1;
}

/** Postpones the next attempt; the status shows when and why. @returns false when another worker holds the lease */
export async function postponeJob(
  change: PlainChange,
  id: string,
  worker: string,
  seconds: number,
  why: string,
): Promise<boolean> {
  const waiting = await change.execute(
    `update backup_jobs set status = 'queued', leased_by = null, leased_until = now() + make_interval(secs => $3),
       step = 'waiting until ' || to_char((now() + make_interval(secs => $3)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ': ' || $4
     where id = $1 and leased_by = $2 and ${active} returning id`,
    [id, worker, seconds, why],
  );
  if (waiting.length === 0) return false;
  await change.enqueue("backups.run", { job_id: id }, { key: `backups.run:${id}`, afterSeconds: seconds });
  return true;
}

/** Releases the lease of a worker that is stopping, so that another one can acquire it at once. */
export async function releaseJob(database: Database, id: string, worker: string): Promise<void> {
  await database.write(platform, system, {
    name: "backups.release_job",
    text: `update backup_jobs set status = 'queued', step = 'waiting', leased_by = null, leased_until = null
      where id = $1 and leased_by = $2 and ${active}`,
    values: [id, worker],
  });
}

// The task that executes backup jobs of all kinds: acquires the lease, works, and stores the outcome. If the
// process dies, the queue gives the job to another one. A temporary failure is retried; any other one ends
// the job as failed.
import type { AuditChanges } from "../shared/audit-changes.ts";
import { randomUUID } from "node:crypto";
import type { ServiceBroker } from "moleculer";
import type { PublishedEvent, PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import type { EventKind } from "../shared/event-kinds.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { storeOf, storeSettings } from "../../mixins/store/store-of.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { ArchiveKeyring } from "./archive-keyring.ts";
import { listBackup, rowsIn } from "./backup-row.ts";
import { LeasedJob } from "./leased-job.ts";
import { failureFrom } from "./failure-from.ts";
import { type Failure, failureOf, pauseAfter, triesMax } from "./job.rules.ts";
import {
  endJob,
  isScheduled,
  type Job,
  leaseJob,
  postponeJob,
  releaseJob,
  removeUnlisted,
  system,
} from "./job-store.ts";
import { type BackupParts, makeBackup } from "./make-backup.ts";
import type { Moving } from "./moving/moving.ts";
import { MovingThread } from "./moving/moving-thread.ts";
import { notifyOperators } from "./notify-operators.ts";
import { restoreTenant } from "./restore-tenant.ts";
import { testRestore } from "./test-restore.ts";
import { auditTenantOf } from "./audit-tenant.ts";

export interface Worker {
  broker: ServiceBroker;
  runtime: Runtime;
  /** Aborts when the process stops. */
  stopping: AbortSignal;
}

/**
 * The facts for the audit entry, collected in the transaction that ends the job; undefined when the job has
 * ended itself.
 */
type Ending = ((change: PlainChange) => Promise<AuditChanges>) | undefined;

/** The job `backups.run`. @throws Error when another worker holds the lease, so that the queue retries */
export async function runJob(worker: Worker, jobId: string): Promise<void> {
  const { runtime } = worker;
  const workerId = randomUUID();
  const job = await leaseJob(runtime.database, jobId, workerId);
  if (job === undefined) return assertEnded(worker, jobId);
  const leased = new LeasedJob(runtime, job, workerId, worker.stopping);
  try {
    if (job.tries > triesMax(isScheduled(job))) return await fail(worker, leased, failureOf("worker_lost"));
    const ending = await execute(worker, leased);
    await leased.release();
    if (ending !== undefined)
      await runtime.database.change(platform, system, (change) => succeed(change, leased, ending));
    runtime.log.info({ job: job.id, kind: job.kind, backup: job.backupId }, "a backup job succeeded");
  } catch (error) {
    await leased.release();
    await handleFailure(worker, leased, error);
  }
}

/** The other worker may die, so the queue retries until the job has ended. */
async function assertEnded({ runtime }: Worker, jobId: string): Promise<void> {
  const [waiting] = await runtime.database.read(platform, {
    name: "backups.job_waits",
    text: "select from backup_jobs where id = $1 and finished_at is null",
    values: [jobId],
  });
  if (waiting !== undefined) throw new Error("another worker holds the job");
}

async function execute(worker: Worker, leased: LeasedJob): Promise<Ending> {
  const { job } = leased;
  const parts = partsOf(worker);
  switch (job.kind) {
    case "backup": {
      const manifest = await makeBackup(parts, leased, job);
      return async (change) => {
        await listBackup(change, manifest);
        return { rows: rowsIn(manifest), size_bytes: manifest.file.bytes };
      };
    }
    case "restore":
      return restoreTenant(worker, parts, leased, succeed);
    case "test":
      return testRestore(parts, leased);
  }
}

/** What jobs use in this process. */
export function partsOf({ broker, runtime }: Worker): BackupParts {
  const { databaseUrl } = runtime;
  if (databaseUrl === undefined) throw new Error("the backups need the database");
  return {
    store: storeOf(runtime),
    keyring: new ArchiveKeyring(broker),
    database: runtime.database,
    databaseUrl,
    moving: movingOf(runtime),
  };
}

/** One thread per process. */
export const movingOf = perRuntime((runtime): Moving => {
  const { databaseUrl, config, postgresEnvironment, callsForOthers } = runtime;
  if (databaseUrl === undefined) throw new Error("the backups need the database");
  return new MovingThread(
    { databaseUrl, store: storeSettings(config) },
    postgresEnvironment,
    () => callsForOthers.count,
  );
});

/** The kinds in the audit log and in events. */
const kinds = { backup: "backup", restore: "restore", test: "backup" } as const;

/**
 * Ends the job in the transaction of its changes.
 * @throws Error when another worker holds the lease, so that the transaction is rolled back
 */
async function succeed(
  change: PlainChange,
  { job, worker }: LeasedJob,
  ending: NonNullable<Ending>,
): Promise<void> {
  const facts = await ending(change);
  if (!(await endJob(change, job.id, worker, "succeeded"))) throw new Error("another worker has the job");
  await record(change, job, "succeeded", facts);
}

async function handleFailure(worker: Worker, leased: LeasedJob, error: unknown): Promise<void> {
  const { runtime } = worker;
  const { job } = leased;
  // The process stops or another worker continues: the job has not ended, so nothing is recorded.
  if (leased.isLost) {
    await releaseJob(runtime.database, job.id, leased.worker);
    throw error;
  }
  const failure = failureFrom(error);
  runtime.log.warn({ job: job.id, kind: job.kind, code: failure.code, err: error }, "a backup job failed");
  const seconds = failure.passing ? pauseAfter(job.tries, isScheduled(job)) : undefined;
  if (seconds !== undefined) {
    await runtime.database.change(platform, system, (change) =>
      postponeJob(change, job.id, leased.worker, seconds, failure.sentence),
    );
    return;
  }
  await fail(worker, leased, failure);
}

async function fail({ runtime }: Worker, leased: LeasedJob, failure: Failure): Promise<void> {
  const { job, worker } = leased;
  await runtime.database.change(platform, system, async (change) => {
    if (!(await endJob(change, job.id, worker, "failed", failure))) return;
    await record(change, job, "failed", { error: failure.code });
    await removeUnlisted(change, job.id);
    // A temporary failure does not mean that the backup is bad.
    if (job.kind === "test" && !failure.passing)
      await change.execute("update backups set tested_at = now(), test_passed = false where id = $1", [
        job.backupId,
      ]);
    if (job.reason === "nightly" || job.kind === "test")
      await notifyOperators(change, job.kind === "test" ? "test_failed" : "backup_failed", failure.code);
  });
}

async function record(
  change: PlainChange,
  job: Job,
  outcome: "succeeded" | "failed",
  facts: AuditChanges,
): Promise<void> {
  const tenantId = await auditTenantOf(change, job.tenantId);
  if (tenantId === undefined) return;
  const named = { backup_id: job.backupId, type: job.type };
  change.audit({
    tenantId,
    action: `${kinds[job.kind]}.${job.kind === "test" ? "test" : "finish"}`,
    target: { type: "backup", id: job.backupId },
    outcome: outcome === "succeeded" ? "ok" : "error",
    changes: { job_id: job.id, type: job.type, reason: job.reason, ...facts },
  });
  if (job.kind === "test") return;
  const kind: EventKind = `${kinds[job.kind]}.${outcome}`;
  // Each kind of ending passes the facts of its kind of event; the tests compare the events with their
  // descriptions.
  change.publishEvent({ tenantId, kind, payload: { job_id: job.id, ...named, ...facts } } as PublishedEvent);
}

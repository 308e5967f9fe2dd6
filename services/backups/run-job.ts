// The one task that does the jobs, whatever they are: takes the lease, works, and says how it ended. The queue gives it again
// to another process when this one dies; what is away for a while is tried again; all else ends as failed.
import type { AuditChanges } from "../shared/audit-changes.ts";
import { randomUUID } from "node:crypto";
import type { ServiceBroker } from "moleculer";
import type { PublishedEvent, PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import type { EventKind } from "../shared/event-kinds.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { storeOf, storeSettings } from "../../mixins/store/store-of.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { ArchiveKeyring } from "./ask-archive-keys.ts";
import { listBackup, rowsIn } from "./backup-row.ts";
import { LeasedJob } from "./leased-job.ts";
import { failureFrom } from "./failure-from.ts";
import { type Failure, failureOf, pauseAfter, triesMax } from "./job.rules.ts";
import {
  endJob,
  isByClock,
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
import { tellOperators } from "./notify-operators.ts";
import { restoreTenant } from "./restore-tenant.ts";
import { testRestore } from "./test-restore.ts";
import { whoseLog } from "./whose-log.ts";

export interface Worker {
  broker: ServiceBroker;
  runtime: Runtime;
  /** Aborts when the process stops. */
  stopping: AbortSignal;
}

/** What a job leaves in the transaction that ends it; undefined where it has ended itself. */
type Ending = ((change: PlainChange) => Promise<AuditChanges>) | undefined;

export async function runJob(worker: Worker, jobId: string): Promise<void> {
  const { runtime } = worker;
  const workerId = randomUUID();
  const job = await leaseJob(runtime.database, jobId, workerId);
  if (job === undefined) return assertNobodyWaits(worker, jobId);
  const held = new LeasedJob(runtime, job, workerId, worker.stopping);
  try {
    if (job.tries > triesMax(isByClock(job))) return await fail(worker, held, failureOf("worker_lost"));
    const ending = await work(worker, held);
    await held.release();
    if (ending !== undefined)
      await runtime.database.change(platform, system, (change) => endWell(change, held, ending));
    runtime.log.info({ job: job.id, kind: job.kind, backup: job.backupId }, "a backup job succeeded");
  } catch (error) {
    await held.release();
    await giveUp(worker, held, error);
  }
}

/** Another worker may hold it and die: the queue asks again as long as it has not ended. */
async function assertNobodyWaits({ runtime }: Worker, jobId: string): Promise<void> {
  const [waiting] = await runtime.database.read(platform, {
    name: "backups.job_waits",
    text: "select from backup_jobs where id = $1 and finished_at is null",
    values: [jobId],
  });
  if (waiting !== undefined) throw new Error("another worker holds the job");
}

async function work(worker: Worker, held: LeasedJob): Promise<Ending> {
  const { job } = held;
  const parts = partsOf(worker);
  switch (job.kind) {
    case "backup": {
      const manifest = await makeBackup(parts, held, job);
      return async (change) => {
        await listBackup(change, manifest);
        return { rows: rowsIn(manifest), size_bytes: manifest.file.bytes };
      };
    }
    case "restore":
      return restoreTenant(worker, parts, held, endWell);
    case "test":
      return testRestore(parts, held);
  }
}

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

/** In the audit log and as events. */
const kinds = { backup: "backup", restore: "restore", test: "backup" } as const;

/** Ends the job in the transaction of what it did. @throws when another worker has it: then nothing of it may stay */
async function endWell(
  change: PlainChange,
  { job, worker }: LeasedJob,
  ending: NonNullable<Ending>,
): Promise<void> {
  const facts = await ending(change);
  if (!(await endJob(change, job.id, worker, "succeeded"))) throw new Error("another worker has the job");
  await record(change, job, "succeeded", facts);
}

async function giveUp(worker: Worker, held: LeasedJob, error: unknown): Promise<void> {
  const { runtime } = worker;
  const { job } = held;
  // The process stops, or another one goes on: nothing is said of a job that has not ended.
  if (held.isLost) {
    await releaseJob(runtime.database, job.id, held.worker);
    throw error;
  }
  const failure = failureFrom(error);
  runtime.log.warn({ job: job.id, kind: job.kind, code: failure.code, err: error }, "a backup job failed");
  const seconds = failure.passing ? pauseAfter(job.tries, isByClock(job)) : undefined;
  if (seconds !== undefined) {
    await runtime.database.change(platform, system, (change) =>
      postponeJob(change, job.id, held.worker, seconds, failure.sentence),
    );
    return;
  }
  await fail(worker, held, failure);
}

async function fail({ runtime }: Worker, held: LeasedJob, failure: Failure): Promise<void> {
  const { job, worker } = held;
  await runtime.database.change(platform, system, async (change) => {
    if (!(await endJob(change, job.id, worker, "failed", failure))) return;
    await record(change, job, "failed", { error: failure.code });
    await removeUnlisted(change, job.id);
    // What is away says nothing of the backup.
    if (job.kind === "test" && !failure.passing)
      await change.execute("update backups set tested_at = now(), test_passed = false where id = $1", [
        job.backupId,
      ]);
    if (job.reason === "nightly" || job.kind === "test")
      await tellOperators(change, job.kind === "test" ? "test_failed" : "backup_failed", failure.code);
  });
}

async function record(
  change: PlainChange,
  job: Job,
  outcome: "succeeded" | "failed",
  facts: AuditChanges,
): Promise<void> {
  const tenantId = await whoseLog(change, job.tenantId);
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
  // Each ending hands over the facts of its kind; the tests of backups hold what is told against the description.
  change.publishEvent({ tenantId, kind, payload: { job_id: job.id, ...named, ...facts } } as PublishedEvent);
}

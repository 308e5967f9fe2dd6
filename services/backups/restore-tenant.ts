// Restores one tenant. The archive is checked while it is staged beside the tables, invisible to users. The
// current state is saved as a safety backup. Then the tenant is frozen, its rows are exchanged in one
// transaction that also ends the job, and the freeze ends.
// A failure before that commit changes nothing. After it, only the freeze remains to be ended.
import type { AuditChanges } from "../shared/audit-changes.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { Bulk } from "../shared/database/bulk.ts";
import { type PlainChange, recordChange } from "../shared/database/change.ts";
import type { OpenArchive } from "./archive/open-manifest.ts";
import { listBackup } from "./backup-row.ts";
import { newBackupId } from "./begin-backup.ts";
import { clearStaged, countStaged, type StagedRows } from "./clear-staged.ts";
import { Freeze } from "./freeze.ts";
import type { LeasedJob } from "./leased-job.ts";
import { JobFailed } from "./job-failed.ts";
import { nameSafetyBackup, system } from "./job-store.ts";
import { type BackupParts, makeBackup } from "./make-backup.ts";
import type { LaidOut } from "./moving/moving.ts";
import { openArchive } from "./open-archive.ts";
import { planning } from "./read-plan.ts";
import { numberedTables, restoreStatements, sequenceText } from "./restore-statements.ts";
import { assertRequesterMayRestore } from "./requester-rights.ts";

type Succeed = (
  change: PlainChange,
  leased: LeasedJob,
  ending: (change: PlainChange) => Promise<AuditChanges>,
) => Promise<void>;

/** Parts of the job's 100 percent, by the cost of the steps. */
const shares = { staging: 30, safety: 55, swapping: 99 };
/** The lock that the triggers of writers take shared; see migrations/0017/freezes.ts. */
const swapLock = 7_206_513;

/**
 * PostgreSQL ends the connection of a worker that hangs or whose machine is lost, so that it does not keep
 * the tenant's lock.
 */
const connectionTimeouts = `select set_config('idle_in_transaction_session_timeout', '30s', true),
  set_config('tcp_keepalives_idle', '10', true), set_config('tcp_keepalives_interval', '5', true),
  set_config('tcp_keepalives_count', '3', true)`;

interface Restore {
  runtime: Runtime;
  parts: BackupParts;
  leased: LeasedJob;
  tenantId: number;
  archive: OpenArchive;
}

/**
 * @param succeed ends the job in the transaction that exchanges the rows
 * @throws JobFailed, ArchiveDamaged, StoreError; then the tenant is unchanged
 */
export async function restoreTenant(
  { runtime }: { runtime: Runtime },
  parts: BackupParts,
  leased: LeasedJob,
  succeed: Succeed,
): Promise<undefined> {
  const { backupId, tenantId } = leased.job;
  if (tenantId === null) throw new JobFailed("tenant_gone");
  await leased.renewNow({ step: "laying the archive out" });
  await assertRequesterMayRestore(leased.job, (text, values) =>
    runtime.database.read("platform", { name: "backups.still_wanted", text, values }),
  );
  const { steps, ...archive } = await openArchive(parts, { backupId, tenantId }, leased.signal);
  const restore = { runtime, parts, leased, tenantId, archive };
  try {
    const hashing = runtime.hasher.hash(crypto.randomUUID());
    // The first failure is the reason; the hash is not awaited then.
    hashing.catch(() => undefined);
    // Every byte is compared with the manifest during the staging, before anything is changed.
    const laidOut = await layOut(restore, steps);
    const safetyBackupId = await makeSafetyBackup(restore);
    const unusableHash = await hashing;
    const freeze = new Freeze(runtime, tenantId, leased.job.id);
    try {
      await leased.renewNow({ step: "freezing the tenant", percent: shares.safety });
      await freeze.begin();
      await leased.renewNow({ step: "exchanging the rows", percent: shares.safety });
      await exchangeInTransaction(restore, { laidOut, safetyBackupId, unusableHash }, succeed);
    } finally {
      await freeze.end();
    }
  } finally {
    await clear(restore).catch((error: unknown) =>
      runtime.log.warn({ job: leased.job.id, err: error }, "what was laid out is left to the sweep"),
    );
  }
  return undefined;
}

function layOut({ parts, leased, tenantId, archive }: Restore, steps: readonly string[]): Promise<LaidOut> {
  const place = { job: leased.job.id, tenantId, steps };
  return parts.moving.layOut(archive, place, leased.progressFor(0, shares.staging), leased.signal);
}

/** Creates the safety backup. @returns the id under which it is listed */
async function makeSafetyBackup({ runtime, parts, leased, tenantId }: Restore): Promise<string> {
  const { id, createdBy } = leased.job;
  const safetyBackupId = await nameSafetyBackup(runtime.database, id, leased.worker, newBackupId());
  const wanted = { backupId: safetyBackupId, type: "tenant", tenantId, reason: "safety", createdBy } as const;
  const share = { from: shares.staging, to: shares.safety };
  const manifest = await makeBackup(parts, leased, wanted, share);
  await runtime.database.change("platform", system, (change) => listBackup(change, manifest));
  return safetyBackupId;
}

interface Prepared {
  laidOut: LaidOut;
  safetyBackupId: string;
  /** A hash that matches no password. */
  unusableHash: string;
}

async function exchangeInTransaction(
  restore: Restore,
  { laidOut, safetyBackupId, unusableHash }: Prepared,
  succeed: Succeed,
): Promise<void> {
  const { parts, leased, tenantId, archive } = restore;
  const { id: job, backupId } = leased.job;
  const bulk = await Bulk.open(parts.databaseUrl, leased.signal);
  try {
    await bulk.beginChange({ as: "restore", tenantId, job });
    await bulk.query(connectionTimeouts);
    // Every change of a user locks the tenant's row first, so this transaction does too, to avoid a deadlock.
    const tenant = await bulk.query("select id from tenants where id = $1 for no key update", [tenantId]);
    if (tenant.length === 0) throw new JobFailed("tenant_gone");
    // Exclusive: the writers have finished, and no new one starts.
    await bulk.query(`select pg_advisory_xact_lock(${swapLock}, $1)`, [tenantId]);
    const now = await assertLaidOut(bulk, job, laidOut);
    await bulk.query(planning);
    const changed = await exchange(bulk, leased, [job, tenantId], unusableHash);
    const highest = numberedTables.map((table) => now[table]?.highest ?? null);
    await bulk.query(sequenceText, highest);
    await leased.renewNow({ step: "ending", percent: shares.swapping });
    await bulk.asPlatform();
    const change = recordChange(<Row>(text: string, values: readonly unknown[] = []) =>
      bulk.query<Row & object>(text, values),
    );
    await succeed(change, leased, async () => ({
      ...changed,
      safety_backup_id: safetyBackupId,
      backup_id: backupId,
      taken_at: archive.manifest.contents.taken_at,
    }));
    await change.finish(system);
    // After the audit entries, as in any change: they lock the tenant's log, and a change of a user's rights
    // writes to it too.
    await assertRequesterMayRestore(leased.job, (text, values) => bulk.query(text, values));
    // The freeze ends in the same transaction, so a caller who is notified of the end can use the tenant at
    // once.
    await bulk.query("delete from tenant_freezes where tenant_id = $1 and job_id = $2", [tenantId, job]);
    await bulk.commit();
  } finally {
    await bulk.close();
  }
}

/**
 * The schema staging is unlogged: a crash of PostgreSQL empties it, and an empty archive would remove all
 * rows.
 */
async function assertLaidOut(bulk: Bulk, job: string, laidOut: LaidOut): Promise<Record<string, StagedRows>> {
  const now = await countStaged(bulk, job);
  for (const [table, rows] of Object.entries(laidOut))
    if (now[table]?.rows !== rows) throw new JobFailed("laid_out_lost");
  return now;
}

async function exchange(
  bulk: Bulk,
  leased: LeasedJob,
  values: [job: string, tenantId: number],
  unusableHash: string,
): Promise<{ added: number; changed: number; removed: number }> {
  const counts = { add: 0, change: 0, remove: 0 };
  for (const [at, { table, as, text }] of restoreStatements.entries()) {
    const wanted = [...values, unusableHash].slice(0, text.includes("$3") ? 3 : 2);
    const rows = await bulk.write(text, wanted);
    if (as !== undefined) counts[as] += rows;
    const percent = shares.safety + ((shares.swapping - shares.safety) * at) / restoreStatements.length;
    leased.setProgress({
      step: `exchanging ${table}`,
      percent,
      rows: counts.add + counts.change + counts.remove,
    });
  }
  return { added: counts.add, changed: counts.change, removed: counts.remove };
}

async function clear({ parts, leased, tenantId }: Restore): Promise<void> {
  const bulk = await Bulk.open(parts.databaseUrl, AbortSignal.timeout(60_000));
  try {
    await bulk.beginChange({ as: "restore", tenantId, job: leased.job.id });
    await clearStaged(bulk, leased.job.id);
    await bulk.commit();
  } finally {
    await bulk.close();
  }
}

// The restore of one tenant. The whole archive is checked while it is laid out beside the tables, where nobody sees it; the
// present is kept as a safety backup; the tenant is frozen; its rows are exchanged in one transaction, which also ends the job;
// the freeze ends.
// What fails, or dies, before that commit has changed nothing; after it nothing is left to do but to let the tenant in.
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
import { assertStillWanted } from "./still-wanted.ts";

type EndWell = (
  change: PlainChange,
  held: LeasedJob,
  ending: (change: PlainChange) => Promise<AuditChanges>,
) => Promise<void>;

/** Of the job's 100 percent, by what each step costs. */
const shares = { staging: 30, safety: 55, swapping: 99 };
/** The same that writers' triggers take shared; see migrations/0017/freezes.ts. */
const swapLock = 7_206_513;

/** A worker that stands still, or whose machine is gone, must not keep the tenant's lock: PostgreSQL ends its connection. */
const letGo = `select set_config('idle_in_transaction_session_timeout', '30s', true),
  set_config('tcp_keepalives_idle', '10', true), set_config('tcp_keepalives_interval', '5', true),
  set_config('tcp_keepalives_count', '3', true)`;

interface Restore {
  runtime: Runtime;
  parts: BackupParts;
  held: LeasedJob;
  tenantId: number;
  archive: OpenArchive;
}

export async function restoreTenant(
  { runtime }: { runtime: Runtime },
  parts: BackupParts,
  held: LeasedJob,
  endWell: EndWell,
): Promise<undefined> {
  const { backupId, tenantId } = held.job;
  if (tenantId === null) throw new JobFailed("tenant_gone");
  await held.say({ step: "laying the archive out" });
  await assertStillWanted(held.job, (text, values) =>
    runtime.database.read("platform", { name: "backups.still_wanted", text, values }),
  );
  const { steps, ...archive } = await openArchive(parts, { backupId, tenantId }, held.signal);
  const restore = { runtime, parts, held, tenantId, archive };
  try {
    const hashing = runtime.hasher.hash(crypto.randomUUID());
    // Whoever fails first is the reason; the other is not waited for then.
    hashing.catch(() => undefined);
    // Every byte is compared with the manifest on the way, so all of them are before anything is changed.
    const laidOut = await layOut(restore, steps);
    const safetyBackupId = await keepThePresent(restore);
    const unusableHash = await hashing;
    const freeze = new Freeze(runtime, tenantId, held.job.id);
    try {
      await held.say({ step: "freezing the tenant", percent: shares.safety });
      await freeze.begin();
      await held.say({ step: "exchanging the rows", percent: shares.safety });
      await swap(restore, { laidOut, safetyBackupId, unusableHash }, endWell);
    } finally {
      await freeze.end();
    }
  } finally {
    await clear(restore).catch((error: unknown) =>
      runtime.log.warn({ job: held.job.id, err: error }, "what was laid out is left to the sweep"),
    );
  }
  return undefined;
}

function layOut({ parts, held, tenantId, archive }: Restore, steps: readonly string[]): Promise<LaidOut> {
  const place = { job: held.job.id, tenantId, steps };
  return parts.moving.layOut(archive, place, held.told(0, shares.staging), held.signal);
}

/** @returns the id under which it is listed now */
async function keepThePresent({ runtime, parts, held, tenantId }: Restore): Promise<string> {
  const { id, createdBy } = held.job;
  const safetyBackupId = await nameSafetyBackup(runtime.database, id, held.worker, newBackupId());
  const wanted = { backupId: safetyBackupId, type: "tenant", tenantId, reason: "safety", createdBy } as const;
  const share = { from: shares.staging, to: shares.safety };
  const manifest = await makeBackup(parts, held, wanted, share);
  await runtime.database.change("platform", system, (change) => listBackup(change, manifest));
  return safetyBackupId;
}

interface Prepared {
  laidOut: LaidOut;
  safetyBackupId: string;
  /** Of a password that nobody has. */
  unusableHash: string;
}

async function swap(
  restore: Restore,
  { laidOut, safetyBackupId, unusableHash }: Prepared,
  endWell: EndWell,
): Promise<void> {
  const { parts, held, tenantId, archive } = restore;
  const { id: job, backupId } = held.job;
  const bulk = await Bulk.open(parts.databaseUrl, held.signal);
  try {
    await bulk.beginChange({ as: "restore", tenantId, job });
    await bulk.query(letGo);
    // Whoever changes a user holds the tenant's row first, and so must this: then no two wait for each other.
    const tenant = await bulk.query("select id from tenants where id = $1 for no key update", [tenantId]);
    if (tenant.length === 0) throw new JobFailed("tenant_gone");
    // Alone: who was writing has ended by now, and nobody begins.
    await bulk.query(`select pg_advisory_xact_lock(${swapLock}, $1)`, [tenantId]);
    const now = await assertLaidOut(bulk, job, laidOut);
    await bulk.query(planning);
    const changed = await exchange(bulk, held, [job, tenantId], unusableHash);
    const highest = numberedTables.map((table) => now[table]?.highest ?? null);
    await bulk.query(sequenceText, highest);
    await held.say({ step: "ending", percent: shares.swapping });
    await bulk.asPlatform();
    const change = recordChange(<Row>(text: string, values: readonly unknown[] = []) =>
      bulk.query<Row & object>(text, values),
    );
    await endWell(change, held, async () => ({
      ...changed,
      safety_backup_id: safetyBackupId,
      backup_id: backupId,
      taken_at: archive.manifest.contents.taken_at,
    }));
    await change.finish(system);
    // After the entries, as after any change: they hold the tenant's log, and who takes somebody's rights away writes there too.
    await assertStillWanted(held.job, (text, values) => bulk.query(text, values));
    // Whoever hears of the end finds the door open.
    await bulk.query("delete from tenant_freezes where tenant_id = $1 and job_id = $2", [tenantId, job]);
    await bulk.commit();
  } finally {
    await bulk.close();
  }
}

/** The schema staging is unlogged: a crash of PostgreSQL empties it, and an empty archive would take all rows away. */
async function assertLaidOut(bulk: Bulk, job: string, laidOut: LaidOut): Promise<Record<string, StagedRows>> {
  const now = await countStaged(bulk, job);
  for (const [table, rows] of Object.entries(laidOut))
    if (now[table]?.rows !== rows) throw new JobFailed("laid_out_lost");
  return now;
}

async function exchange(
  bulk: Bulk,
  held: LeasedJob,
  values: [job: string, tenantId: number],
  unusableHash: string,
): Promise<{ added: number; changed: number; removed: number }> {
  const counts = { add: 0, change: 0, remove: 0 };
  for (const [at, { table, as, text }] of restoreStatements.entries()) {
    const wanted = [...values, unusableHash].slice(0, text.includes("$3") ? 3 : 2);
    const rows = await bulk.write(text, wanted);
    if (as !== undefined) counts[as] += rows;
    const percent = shares.safety + ((shares.swapping - shares.safety) * at) / restoreStatements.length;
    held.at({ step: `exchanging ${table}`, percent, rows: counts.add + counts.change + counts.remove });
  }
  return { added: counts.add, changed: counts.change, removed: counts.remove };
}

async function clear({ parts, held, tenantId }: Restore): Promise<void> {
  const bulk = await Bulk.open(parts.databaseUrl, AbortSignal.timeout(60_000));
  try {
    await bulk.beginChange({ as: "restore", tenantId, job: held.job.id });
    await clearStaged(bulk, held.job.id);
    await bulk.commit();
  } finally {
    await bulk.close();
  }
}

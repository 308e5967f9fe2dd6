// Deletes backups beyond the retention and those of purged tenants, objects without backup, staged rows of
// killed jobs, expired tickets and old jobs. Enqueues jobs again that no worker executes.
import type { ServiceBroker } from "moleculer";
import { Bulk } from "../shared/database/bulk.ts";
import { databaseMs } from "../shared/database/clock.ts";
import { platform } from "../shared/database/scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { Store } from "../../mixins/store/store.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import { dataKeyOf } from "./archive/manifest.ts";
import { ArchiveKeyring } from "./archive-keyring.ts";
import { sweepStaged } from "./clear-staged.ts";
import { underWay } from "./job.rules.ts";
import { system } from "./job-store.ts";
import { writeKeyring } from "./make-backup.ts";
import { beginRemoval } from "./remove-backup.ts";
import { safetyDays, toRemove } from "./retention.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

type WithRuntime = { runtime: Runtime; broker: ServiceBroker };

/** With a sweep every ten minutes, abandoned data is deleted within an hour. */
const leftoverMs = 45 * 60_000;
const jobDays = 180;
const bulkMsMax = 10 * 60_000;

/** The job `backups.sweep`, every ten minutes. */
export async function sweepBackups(this: WithRuntime): Promise<void> {
  const { runtime } = this;
  await enqueueAbandonedJobs(runtime);
  await retain(runtime);
  await write(runtime, "delete from backup_tickets where expires_at < now() returning token_hash");
  await write(
    runtime,
    "delete from tenant_freezes where until < now() - interval '1 hour' returning tenant_id",
  );
  await write(
    runtime,
    `delete from backup_jobs where finished_at < now() - interval '${jobDays} days' returning id`,
  );
  await sweepLaidOut(runtime);
  const store = storeOf(runtime);
  await refreshKeyring(runtime, store);
  // By the database's clock: this process's may have been set ahead, and what is being written just now is no leftover.
  const before = new Date((await databaseMs(runtime.database)) - leftoverMs);
  await store.removeLeftovers(before);
  await removeOrphans(runtime, store, new ArchiveKeyring(this.broker), before);
}

function write({ database }: Runtime, text: string): Promise<unknown[]> {
  return database.write(platform, system, { text, values: [] });
}

/** The queue drops a job that failed too often; the row stays. */
async function enqueueAbandonedJobs({ database }: Runtime): Promise<void> {
  const abandoned = await database.read<RowOf<"backup_jobs", "id">>(platform, {
    name: "backups.sleeping_jobs",
    text: `select id from backup_jobs where status = any($1) and coalesce(leased_until, created_at) < now() - interval '5 minutes'
      order by created_at limit 1000`,
    values: [underWay],
  });
  for (const { id } of abandoned)
    await database.change(platform, system, (change) =>
      change.enqueue("backups.run", { job_id: id }, { key: `backups.run:${id}` }),
    );
}

type Row = RowOf<
  "backups",
  "id" | "tenant_id" | "reason",
  { taken_at: string; tenant_gone: boolean; old: boolean }
>;

async function retain({ database, log }: Runtime): Promise<void> {
  const rows = await database.read<Row>(platform, {
    name: "backups.retained",
    text: `select id, tenant_id, reason, extract(epoch from created_at) * 1000 as taken_at,
        created_at < now() - interval '${safetyDays} days' as old,
        tenant_id is not null and not exists (select from tenants t where t.id = b.tenant_id) as tenant_gone
      from backups b where state = 'complete' order by tenant_id`,
    values: [],
  });
  const nightly = Map.groupBy(
    rows.filter(({ reason }) => reason === "nightly"),
    ({ tenant_id: tenantId }) => tenantId,
  );
  const beyond = [...nightly.values()].flatMap((each) =>
    toRemove(each.map(({ id, taken_at: takenAt }) => ({ id, takenAt: new Date(Number(takenAt)) }))),
  );
  const others = rows.filter(({ reason, old, tenant_gone: gone }) => gone || (reason === "safety" && old));
  for (const id of new Set([...beyond, ...others.map((row) => row.id)])) {
    await database.change(platform, system, async (change) => {
      const [free] = await change.execute(
        `select id from backups b where id = $1 and state = 'complete' and not exists (select from backup_jobs j
           where (j.backup_id = b.id or j.safety_backup_id = b.id) and j.status = any($2)) for update`,
        [id, underWay],
      );
      if (free === undefined) return;
      await beginRemoval(change, id);
      log.info({ backup: id }, "a backup goes by the retention");
    });
  }
}

async function sweepLaidOut({ database, databaseUrl }: Runtime): Promise<void> {
  if (databaseUrl === undefined) return;
  const jobs = await database.read<RowOf<"backup_jobs", "id">>(platform, {
    name: "backups.jobs_under_way",
    text: "select id from backup_jobs where status = any($1)",
    values: [underWay],
  });
  const bulk = await Bulk.open(databaseUrl, AbortSignal.timeout(bulkMsMax));
  try {
    await bulk.beginChange({ as: "restore" });
    await sweepStaged(
      bulk,
      jobs.map(({ id }) => id),
    );
    await bulk.commit();
  } finally {
    await bulk.close();
  }
}

/**
 * Removes archives without a manifest, which are left by failed attempts. An archive with a manifest is never
 * removed here, even if no row names it, because the database may have lost the row.
 */
async function removeOrphans(
  { database, log }: Runtime,
  store: Store,
  keyring: ArchiveKeyring,
  before: Date,
): Promise<void> {
  const found = new Map<string, { keys: string[]; newest: number }>();
  for await (const { key, modifiedAt } of store.list("backups/")) {
    const [, id, part] = /^backups\/(bk_[0-9a-f]{32})\/(data|manifest)$/.exec(key) ?? [];
    if (id === undefined || part === undefined) continue;
    const seen = found.get(id) ?? { keys: [], newest: 0 };
    found.set(id, { keys: [...seen.keys, part], newest: Math.max(seen.newest, modifiedAt.getTime()) });
  }
  for (const [id, { keys, newest }] of found) {
    if (keys.includes("manifest") || newest >= before.getTime()) continue;
    const used = await database.read(platform, {
      name: "backups.is_used",
      text: `select from backup_jobs where (backup_id = $1 or safety_backup_id = $1) and status = any($2)
        union all select from backups where id = $1`,
      values: [id, underWay],
    });
    if (used.length > 0) continue;
    await store.remove(dataKeyOf(id));
    await keyring.drop(id);
    log.info({ backup: id }, "an archive without a manifest is removed");
  }
}

/** Soon after a change of BOOT_SECRET, the new one must open the earlier backups. */
async function refreshKeyring({ database }: Runtime, store: Store): Promise<void> {
  const masters = await database.read<RowOf<"master_keys", "version", { wrapped: string }>>(platform, {
    name: "backups.wrapped_masters",
    text: `select version, encode(wrapped, 'base64') as wrapped from master_keys where wrapped is not null order by version`,
    values: [],
  });
  await writeKeyring(store, masters, AbortSignal.timeout(bulkMsMax));
}

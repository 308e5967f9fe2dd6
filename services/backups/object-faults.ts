// Compares the list of backups with the store: backups without their objects, and objects without their
// backup.
import { databaseMs } from "../shared/database/clock.ts";
import { platform } from "../shared/database/scope.ts";
import type { FoundFault, Remedy, DetectorCall } from "../../mixins/healing/port.ts";
import { textIn } from "../../mixins/healing/targets.ts";
import type { Store } from "../../mixins/store/store.ts";
import { storeOf } from "../../mixins/store/store-of.ts";
import { dataKeyOf, manifestKeyOf } from "./archive/manifest.ts";
import { ArchiveKeyring } from "./archive-keyring.ts";
import { listBackup } from "./backup-row.ts";
import { underWay } from "./job.rules.ts";
import { system } from "./job-store.ts";
import { openArchive } from "./open-archive.ts";
import { beginRemoval } from "./remove-backup.ts";
import type { RowOf } from "../shared/database/row.ts";

const statMax = 200;
const listedMax = 20_000;
/** During creation and removal a backup has objects but no row, so younger objects are ignored. */
const settledMs = 2 * 3_600_000;
const openMsMax = 8_000;
const isId = /^bk_[0-9a-f]{32}$/;

type Listed = RowOf<"backups", "id" | "tenant_id">;

/**
 * The remedy `backup_object_missing`: its target is `backup:<id>`; healing removes the backup from the list.
 */
export const backupObjectMissing: Remedy = {
  async find(site, { target, cursor }) {
    const one = target === undefined ? null : (textIn("backup", target) ?? "");
    const rows = await site.db.read<Listed>(platform, {
      name: "backups.listed_page",
      text: `select id, tenant_id from backups where state = 'complete'
        and ($1::text is null or id = $1) and id > $2 order by id limit ${statMax}`,
      values: [one, one === null ? (cursor ?? "") : ""],
    });
    const store = storeOf(site.runtime);
    const found: FoundFault[] = [];
    for (const { id, tenant_id: tenantId } of rows) {
      const missing = await missingOf(store, id);
      if (missing.length > 0) found.push({ target: `backup:${id}`, tenantId, evidence: { missing } });
    }
    return {
      found,
      targets: rows.length,
      cursor: rows.length === statMax ? (rows.at(-1)?.id ?? null) : null,
    };
  },
  wouldDo: ({ target, evidence }) =>
    `Would take ${textIn("backup", target) ?? ""} off the list, as its ${[evidence["missing"]].flat().join(" and ")} cannot be restored from any more.`,
  async heal(site, target) {
    const id = textIn("backup", target) ?? "";
    if (!isId.test(id) || (await missingOf(storeOf(site.runtime), id)).length === 0) return { removed: 0 };
    return site.db.change(platform, system, async (change) => {
      const [free] = await change.execute(
        `select id from backups b where id = $1 and state = 'complete' and not exists (select from backup_jobs j
           where (j.backup_id = b.id or j.safety_backup_id = b.id) and j.status = any($2)) for update`,
        [id, underWay],
      );
      if (free === undefined) return { removed: 0 };
      await beginRemoval(change, id);
      return { removed: 1 };
    });
  },
};

/** Throws when the store is unavailable, so that nothing counts as missing. */
async function missingOf(store: Store, id: string): Promise<string[]> {
  const keys = { manifest: manifestKeyOf(id), archive: dataKeyOf(id) };
  const missing: string[] = [];
  for (const [name, key] of Object.entries(keys))
    if ((await store.stat(key)) === undefined) missing.push(name);
  return missing;
}

interface Objects {
  parts: string[];
  newest: number;
}

async function objectsIn(store: Store, id: string | null): Promise<Map<string, Objects>> {
  const found = new Map<string, Objects>();
  let seen = 0;
  for await (const { key, modifiedAt } of store.list(id === null ? "backups/" : `backups/${id}/`)) {
    if (++seen > listedMax) break;
    const [, of, part] = /^backups\/(bk_[0-9a-f]{32})\/(data|manifest)$/.exec(key) ?? [];
    if (of === undefined || part === undefined) continue;
    const { parts = [], newest = 0 } = found.get(of) ?? {};
    found.set(of, { parts: [...parts, part], newest: Math.max(newest, modifiedAt.getTime()) });
  }
  return found;
}

/**
 * The remedy `object_without_backup`: its target is `object:<id>`; healing lists the backup again, or deletes
 * incomplete data.
 */
export const objectWithoutBackup: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : (textIn("object", target) ?? "");
    if (one !== null && !isId.test(one)) return { found: [] };
    const objects = await objectsIn(storeOf(site.runtime), one);
    const settledAt = (await databaseMs(site.db)) - settledMs;
    const old = [...objects].filter(([, { newest }]) => newest < settledAt);
    if (old.length === 0) return { found: [], targets: objects.size };
    const known = await knownAmong(
      site,
      old.map(([id]) => id),
    );
    const found = old
      .filter(([id]) => !known.has(id))
      .slice(0, 100)
      .map(([id, { parts }]) => ({
        target: `object:${id}`,
        tenantId: null,
        evidence: { parts: parts.sort(), whole: parts.length === 2 },
      }));
    return { found, targets: objects.size };
  },
  wouldDo: ({ target, evidence }) =>
    evidence["whole"] === true
      ? `Would prove the manifest of ${textIn("object", target) ?? ""} and put it on the list again.`
      : `Would delete what a failed try left of ${textIn("object", target) ?? ""}.`,
  async heal(site, target) {
    const id = textIn("object", target) ?? "";
    const store = storeOf(site.runtime);
    const parts = isId.test(id) ? ((await objectsIn(store, id)).get(id)?.parts ?? []) : [];
    if (parts.length === 0 || (await knownAmong(site, [id])).has(id)) return { done: "nothing" };
    // A backup with a manifest was complete once, so it is never deleted here.
    if (parts.includes("manifest")) return listAgain(site, store, id);
    await store.remove(dataKeyOf(id));
    return { done: "deleted" };
  },
};

async function knownAmong({ db }: DetectorCall, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.read<{ id: string }>(platform, {
    name: "backups.known_among",
    text: `select id from backups where id = any($1) union select backup_id from backup_jobs
        where backup_id = any($1) and status = any($2)
      union select safety_backup_id from backup_jobs where safety_backup_id = any($1) and status = any($2)`,
    values: [ids, underWay],
  });
  return new Set(rows.map(({ id }) => id));
}

/** Lists only a backup of this installation whose manifest is verified by its archive's key. */
async function listAgain(site: DetectorCall, store: Store, id: string) {
  const signal = AbortSignal.timeout(openMsMax);
  const keyring = new ArchiveKeyring(site.broker);
  const row = await site.db.readOne<RowOf<"backup_jobs", "tenant_id">>(platform, {
    name: "backups.archive_of",
    text: "select tenant_id from backup_jobs where backup_id = $1 and kind = 'backup' order by created_at desc limit 1",
    values: [id],
  });
  const { manifest } = await openArchive(
    { store, keyring, database: site.db },
    { backupId: id, tenantId: row?.tenant_id ?? null },
    signal,
  );
  await site.db.change(platform, system, (change) => listBackup(change, manifest));
  return { done: "listed" };
}

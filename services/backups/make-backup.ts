// Making a backup: snapshot → archive in the store → read back and compared → manifest. Nothing is listed before the end, and
// what a failed try left in the store is removed by it, or by the sweep.
import { Readable } from "node:stream";
import { Bulk } from "../shared/database/bulk.ts";
import type { Store } from "../shared/store/store.ts";
import { type ArchiveKeyring } from "./ask-archive-keys.ts";
import {
  archiveKeys,
  type Contents,
  dataKeyOf,
  formatVersion,
  keyringKey,
  type Manifest,
  type MasterOnRecord,
  manifestKeyOf,
  writeManifest,
} from "./archive/manifest.ts";
import { nowhere, readArchive } from "./archive/read-archive.ts";
import { writeArchive } from "./archive/write-archive.ts";
import type { HeldJob } from "./held-job.ts";
import { JobFailed } from "./job-failed.ts";
import type { Reason } from "./job-store.ts";
import type { BackupType } from "./table-decisions.ts";

export interface Wanted {
  backupId: string;
  type: BackupType;
  tenantId: number | null;
  reason: Reason;
  createdBy: number | null;
}

export interface BackupParts {
  store: Store;
  keyring: ArchiveKeyring;
  databaseUrl: string;
}

/** Of the whole, writing is about half, as reading back takes about as long. */
const writingShare = 50;

/** @param share of the job's 100 percent that this is, and where it begins */
export async function makeBackup(
  { store, keyring, databaseUrl }: BackupParts,
  held: HeldJob,
  wanted: Wanted,
  share: { from: number; to: number } = { from: 0, to: 100 },
): Promise<Manifest> {
  const { backupId, tenantId, type } = wanted;
  const { signal } = held;
  const percentOf = (percent: number) => share.from + ((share.to - share.from) * percent) / 100;
  const made = await keyring.make(backupId, tenantId);
  const key = Buffer.from(made.key, "base64");
  const keys = archiveKeys(key);
  key.fill(0);
  // A try before this one may have come as far: its manifest must not speak of what is written now.
  await store.remove(manifestKeyOf(backupId));
  const bulk = await Bulk.open(databaseUrl, signal);
  try {
    await bulk.beginSnapshot(tenantId === null ? { as: "platform" } : { as: "tenant", tenantId });
    const facts = await factsOf(bulk, wanted, made.installation);
    const written = await writeArchive(
      bulk,
      store,
      facts,
      keys.data,
      ({ step, rows, bytes, table, tables }) =>
        held.at({
          step: `writing ${step}`,
          rows,
          bytes,
          percent: percentOf((writingShare * table) / tables),
        }),
      signal,
    );
    await bulk.commit();
    await keyring.close(backupId);
    const manifest: Manifest = {
      contents: written.contents,
      file: written.file,
      stored_bytes: written.storedBytes,
      made: { created_by: wanted.createdBy, reason: wanted.reason, verified_at: new Date().toISOString() },
      keys: { master_version: made.master_version, wrapped: made.wrapped, masters: made.masters },
    };
    await held.say({
      ...(type === held.job.type && held.job.kind === "backup" ? { status: "verifying" } : {}),
      step: "reading back",
    });
    await readBack(store, manifest, keys.data, held, (percent) => percentOf(writingShare + percent / 2));
    await held.say({ step: "writing the manifest" });
    const bytes = writeManifest(manifest, keys.manifest);
    await store.put(manifestKeyOf(backupId), Readable.from([bytes]), signal);
    await writeKeyring(store, made.masters, signal);
    return manifest;
  } finally {
    await bulk.close();
  }
}

async function readBack(
  store: Store,
  manifest: Manifest,
  key: Parameters<typeof readArchive>[2],
  held: HeldJob,
  percentOf: (percent: number) => number,
): Promise<void> {
  const { contents, stored_bytes: storedBytes } = manifest;
  const found = await store.stat(dataKeyOf(contents.backup_id));
  if (found?.bytes !== storedBytes) throw new JobFailed("not_as_written");
  const whole = contents.tables.reduce((sum, { bytes }) => sum + bytes, 1);
  let read = 0;
  await readArchive(
    store,
    manifest,
    key,
    nowhere,
    (bytes) => {
      read += bytes;
      held.at({ percent: percentOf((100 * read) / whole) });
    },
    held.signal,
  );
}

async function factsOf(
  bulk: Bulk,
  { backupId, type, tenantId }: Wanted,
  installation: string,
): Promise<Omit<Contents, "tables">> {
  // A tenant's own statement may not read which migrations ran in another's way; the newest name is everybody's.
  const [state] = await bulk.query<{
    schema: string;
    taken_at: Date;
    tenant: boolean;
    seq: string | null;
    hash: string | null;
  }>(
    `select (select max(name) from mikro_orm_migrations) as schema, now() as taken_at,
       exists (select from tenants where id = $1) as tenant, h.seq, encode(h.hash, 'hex') as hash
     from (select) one left join audit_heads h on h.tenant_id = coalesce($1::integer,
       (select id from tenants where subdomain = 'platform' and deleted_at is null))`,
    [tenantId],
  );
  if (state === undefined || (type === "tenant" && !state.tenant)) throw new JobFailed("tenant_gone");
  return {
    format: formatVersion,
    backup_id: backupId,
    type,
    tenant_id: tenantId,
    installation,
    schema_version: state.schema,
    taken_at: state.taken_at.toISOString(),
    audit_head: state.hash === null ? null : { seq: Number(state.seq), hash: state.hash },
  };
}

/** Only ever as they are wrapped now: after a change of BOOT_SECRET the old one opens nothing that is written since. */
export async function writeKeyring(
  store: Store,
  masters: readonly MasterOnRecord[],
  signal: AbortSignal,
): Promise<void> {
  await store.put(keyringKey, Readable.from([Buffer.from(JSON.stringify({ masters }))]), signal);
}

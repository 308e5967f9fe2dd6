// Creates a backup: snapshot → archive in the store → read back and compared → manifest. It is listed only at
// the end. The objects of a failed attempt are removed by the attempt or by the sweep.
import { Readable } from "node:stream";
import type { Store } from "../../mixins/store/store.ts";
import type { ArchiveSource } from "./open-archive.ts";
import {
  archiveKeys,
  dataKeyOf,
  keyringKey,
  type Manifest,
  type MasterOnRecord,
  manifestKeyOf,
  writeManifest,
} from "./archive/manifest.ts";
import type { LeasedJob } from "./leased-job.ts";
import { JobFailed } from "./job-failed.ts";
import type { Reason } from "./job-store.ts";
import type { Moving } from "./moving/moving.ts";
import type { BackupType } from "./table-decisions.ts";

/** The backup to create. */
export interface BackupRequest {
  backupId: string;
  type: BackupType;
  tenantId: number | null;
  reason: Reason;
  createdBy: number | null;
}

/** What a backup job uses. */
export interface BackupParts extends ArchiveSource {
  /** The login of the jobs' own connections. */
  databaseUrl: string;
  moving: Moving;
}

/** Writing is about half of the work, because reading back takes about as long. */
const writingShare = 50;

/**
 * @param share the part of the job's progress that this backup takes
 * @throws JobFailed, StoreError
 */
export async function makeBackup(
  { store, keyring, moving }: Pick<BackupParts, "store" | "keyring" | "moving">,
  leased: LeasedJob,
  request: BackupRequest,
  share: { from: number; to: number } = { from: 0, to: 100 },
): Promise<Manifest> {
  const { backupId, tenantId, type } = request;
  const { signal } = leased;
  const percentOf = (percent: number) => share.from + ((share.to - share.from) * percent) / 100;
  const made = await keyring.make(backupId, tenantId);
  const key = Buffer.from(made.key, "base64");
  const keys = archiveKeys(key);
  key.fill(0);
  // An earlier attempt may have written a manifest, which would not fit the new data.
  await store.remove(manifestKeyOf(backupId));
  const progress = {
    writing: leased.progressFor(share.from, percentOf(writingShare)),
    reading: leased.progressFor(percentOf(writingShare), share.to),
  };
  const taken = { backupId, type, tenantId, installation: made.installation, key: keys.data };
  const written = await moving.write(
    taken,
    ({ step = "", ...more }) => progress.writing({ ...more, step: `writing ${step}` }),
    signal,
  );
  await keyring.close(backupId);
  const manifest: Manifest = {
    contents: written.contents,
    file: written.file,
    stored_bytes: written.storedBytes,
    made: { created_by: request.createdBy, reason: request.reason, verified_at: new Date().toISOString() },
    keys: { master_version: made.master_version, wrapped: made.wrapped, masters: made.masters },
  };
  await leased.renewNow({
    ...(type === leased.job.type && leased.job.kind === "backup" ? { status: "verifying" } : {}),
    step: "reading back",
  });
  const found = await store.stat(dataKeyOf(backupId));
  if (found?.bytes !== manifest.stored_bytes) throw new JobFailed("not_as_written");
  await moving.check(
    { manifest, data: keys.data },
    ({ share: part }) => progress.reading({ share: part }),
    signal,
  );
  await listOnce(store, leased, backupId, writeManifest(manifest, keys.manifest));
  await writeKeyring(store, made.masters, signal);
  return manifest;
}

const writesMax = 3;

/**
 * A worker that was suspended beyond its lease may continue here after another one has made the backup again;
 * its manifest would not fit the stored data. So a manifest never replaces another one: a worker that finds
 * one first verifies its lease.
 */
async function listOnce(store: Store, leased: LeasedJob, backupId: string, manifest: Buffer): Promise<void> {
  for (let nth = 0; nth < writesMax; nth++) {
    await leased.renewNow({ step: "writing the manifest" });
    if (await store.putOnce(manifestKeyOf(backupId), manifest, leased.signal)) return;
    await leased.renewNow();
    await store.remove(manifestKeyOf(backupId));
  }
  throw new JobFailed("store_unavailable");
}

/**
 * Always as they are wrapped now: after a change of BOOT_SECRET the old one opens nothing that is written
 * later.
 */
export async function writeKeyring(
  store: Store,
  masters: readonly MasterOnRecord[],
  signal: AbortSignal,
): Promise<void> {
  await store.put(keyringKey, Readable.from([Buffer.from(JSON.stringify({ masters }))]), signal);
}

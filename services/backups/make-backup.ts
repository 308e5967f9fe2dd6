// Making a backup: snapshot → archive in the store → read back and compared → manifest. Nothing is listed before the end, and
// what a failed try left in the store is removed by it, or by the sweep.
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

export interface Wanted {
  backupId: string;
  type: BackupType;
  tenantId: number | null;
  reason: Reason;
  createdBy: number | null;
}

export interface BackupParts extends ArchiveSource {
  /** Of the login that the jobs' own transactions use. */
  databaseUrl: string;
  moving: Moving;
}

/** Of the whole, writing is about half, as reading back takes about as long. */
const writingShare = 50;

/** @param share of the job's 100 percent that this is, and where it begins */
export async function makeBackup(
  { store, keyring, moving }: Pick<BackupParts, "store" | "keyring" | "moving">,
  held: LeasedJob,
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
  const telling = {
    writing: held.told(share.from, percentOf(writingShare)),
    reading: held.told(percentOf(writingShare), share.to),
  };
  const taken = { backupId, type, tenantId, installation: made.installation, key: keys.data };
  const written = await moving.write(
    taken,
    ({ step = "", ...more }) => telling.writing({ ...more, step: `writing ${step}` }),
    signal,
  );
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
  const found = await store.stat(dataKeyOf(backupId));
  if (found?.bytes !== manifest.stored_bytes) throw new JobFailed("not_as_written");
  await moving.check(
    { manifest, data: keys.data },
    ({ share: part }) => telling.reading({ share: part }),
    signal,
  );
  await listOnce(store, held, backupId, writeManifest(manifest, keys.manifest));
  await writeKeyring(store, made.masters, signal);
  return manifest;
}

const writesMax = 3;

/**
 * A worker that slept past its lease may wake before this very step, when another one has made the backup again: its manifest
 * would speak of bytes that are there no more. So a manifest never takes the place of another one, and whoever finds one asks
 * first whose the job is.
 */
async function listOnce(store: Store, held: LeasedJob, backupId: string, manifest: Buffer): Promise<void> {
  for (let nth = 0; nth < writesMax; nth++) {
    await held.say({ step: "writing the manifest" });
    if (await store.putOnce(manifestKeyOf(backupId), manifest, held.signal)) return;
    await held.say();
    await store.remove(manifestKeyOf(backupId));
  }
  throw new JobFailed("store_unavailable");
}

/** Only ever as they are wrapped now: after a change of BOOT_SECRET the old one opens nothing that is written since. */
export async function writeKeyring(
  store: Store,
  masters: readonly MasterOnRecord[],
  signal: AbortSignal,
): Promise<void> {
  await store.put(keyringKey, Readable.from([Buffer.from(JSON.stringify({ masters }))]), signal);
}

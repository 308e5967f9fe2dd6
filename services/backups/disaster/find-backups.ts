// Finds the backups in the store with BOOT_SECRET alone, without a database. A manifest names the master key
// that wraps its archive's key, and contains the master keys as they were wrapped at that time. The object
// `keyring` contains them as they are wrapped now, after a change of BOOT_SECRET.
import { buffer } from "node:stream/consumers";
import type { KeyObject } from "node:crypto";
import { ArchiveDamaged } from "../../shared/archive/sealed-stream.ts";
import {
  undefinedIfBroken,
  unwrapArchiveKey,
  unwrapMasterKey,
  unwrapMasterKeyBytes,
} from "../../shared/sealing/wrapping.ts";
import { type Store, StoreError } from "../../../mixins/store/store.ts";
import {
  archiveKeys,
  archiveNameOf,
  keyringKey,
  type Manifest,
  type MasterOnRecord,
} from "../archive/manifest.ts";
import { fetchManifest } from "../archive/open-manifest.ts";

/** A backup that can be opened. */
export interface FoundBackup {
  manifest: Manifest;
  data: KeyObject;
  /** The master keys as they are wrapped now, by version. */
  masters: ReadonlyMap<number, Buffer>;
}

/** The result. */
export interface Found {
  backups: FoundBackup[];
  /** Ids of backups that cannot be opened. */
  closed: string[];
}

const keyringBytesMax = 1_048_576;

/** Newest first. @throws StoreError */
export async function findBackups(store: Store, bootSecret: string, signal: AbortSignal): Promise<Found> {
  const ring = await readKeyring(store, signal);
  const backups: FoundBackup[] = [];
  const closed: string[] = [];
  for await (const { key } of store.list("backups/")) {
    const id = /^backups\/(bk_[0-9a-f]{32})\/manifest$/.exec(key)?.[1];
    if (id === undefined) continue;
    const found = await openOne(store, id, bootSecret, ring, signal);
    if (found === undefined) closed.push(id);
    else backups.push(found);
  }
  const newestFirst = backups.sort((a, b) =>
    a.manifest.contents.taken_at < b.manifest.contents.taken_at ? 1 : -1,
  );
  return { backups: newestFirst, closed };
}

async function readKeyring(store: Store, signal: AbortSignal): Promise<MasterOnRecord[]> {
  try {
    const found = await store.stat(keyringKey);
    if (found === undefined || found.bytes > keyringBytesMax) return [];
    const { masters } = JSON.parse(String(await buffer(await store.get(keyringKey, signal)))) as {
      masters: MasterOnRecord[];
    };
    return Array.isArray(masters) ? masters : [];
  } catch (error) {
    // A malformed keyring is ignored: the manifests contain keys too.
    if (error instanceof StoreError) throw error;
    return [];
  }
}

async function openOne(
  store: Store,
  id: string,
  bootSecret: string,
  ring: readonly MasterOnRecord[],
  signal: AbortSignal,
): Promise<FoundBackup | undefined> {
  try {
    const unproved = await fetchManifest(store, id, signal);
    const { keys, contents } = unproved.manifest;
    const masters = openable(bootSecret, [...keys.masters, ...ring]);
    const wrapped = masters.get(keys.master_version);
    if (wrapped === undefined) return undefined;
    const key = undefinedIfBroken(() =>
      unwrapArchiveKey(
        unwrapMasterKey(bootSecret, keys.master_version, wrapped),
        archiveNameOf(contents),
        Buffer.from(keys.wrapped, "base64"),
      ),
    );
    if (key === undefined) return undefined;
    const own = archiveKeys(key);
    return { manifest: unproved.prove(own.manifest), data: own.data, masters };
  } catch (error) {
    if (error instanceof ArchiveDamaged) return undefined;
    throw error;
  }
}

/** The master keys that this secret opens; of two for one version, the later in the list. */
function openable(bootSecret: string, masters: readonly MasterOnRecord[]): Map<number, Buffer> {
  const open = new Map<number, Buffer>();
  for (const { version, wrapped } of masters) {
    const bytes = Buffer.from(wrapped, "base64");
    const key = undefinedIfBroken(() => unwrapMasterKeyBytes(bootSecret, version, bytes));
    if (key === undefined) continue;
    key.fill(0);
    open.set(version, bytes);
  }
  return open;
}

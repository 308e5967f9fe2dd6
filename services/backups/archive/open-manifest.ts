// Reads and verifies a backup's manifest, and derives the key of its archive.
import { buffer } from "node:stream/consumers";
import type { KeyObject } from "node:crypto";
import { ArchiveDamaged } from "../../shared/archive/sealed-stream.ts";
import { type Store, StoreError } from "../../../mixins/store/store.ts";
import {
  archiveKeys,
  type Manifest,
  manifestBytesMax,
  manifestKeyOf,
  readManifest,
  type UnprovedManifest,
} from "./manifest.ts";

/** A verified manifest and the key of its data. */
export interface OpenArchive {
  manifest: Manifest;
  data: KeyObject;
}

/** @throws StoreError `not_found`, ArchiveDamaged */
export async function fetchManifest(
  store: Store,
  backupId: string,
  signal: AbortSignal,
): Promise<UnprovedManifest> {
  const key = manifestKeyOf(backupId);
  const found = await store.stat(key);
  if (found === undefined) throw new StoreError("not_found", "The backup has no manifest.");
  if (found.bytes > manifestBytesMax) throw new ArchiveDamaged("The backup's manifest is too large.");
  const read = readManifest(await buffer(await store.get(key, signal)));
  if (read.manifest.contents.backup_id !== backupId)
    throw new ArchiveDamaged("The backup's manifest was changed, or is not the one it should be.");
  return read;
}

/** @param key the archive's key from the crypto service @throws StoreError `not_found`, ArchiveDamaged */
export async function openManifest(
  store: Store,
  backupId: string,
  key: Buffer,
  signal: AbortSignal,
): Promise<OpenArchive> {
  const keys = archiveKeys(key);
  const unproved = await fetchManifest(store, backupId, signal);
  return { manifest: unproved.prove(keys.manifest), data: keys.data };
}

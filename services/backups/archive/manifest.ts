// The description of an archive. Its contents part is the last file of the archive. The stored manifest adds
// the file's size and checksum, the keys, and a MAC with a key derived from the archive's key, so nobody
// without the key can create a manifest.
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";
import canonicalize from "canonicalize";
import { ArchiveDamaged } from "../../shared/archive/sealed-stream.ts";
import type { BackupType } from "../table-decisions.ts";

export const formatVersion = 1;

export interface ArchivedTable {
  name: string;
  columns: { name: string; type: string }[];
  rows: number;
  bytes: number;
  sha256: string;
}

/** `manifest.json` in the archive. */
export interface Contents {
  format: number;
  backup_id: string;
  type: BackupType;
  tenant_id: number | null;
  /** The fingerprint of the installation's first master key. */
  installation: string;
  schema_version: string;
  taken_at: string;
  tables: ArchivedTable[];
  /** The end of the tenant's audit chain in the snapshot; in a full backup, the platform's. */
  audit_head: { seq: number; hash: string } | null;
}

/** A master key as it was wrapped at the time of the backup. */
export interface MasterOnRecord {
  version: number;
  /** Wrapped by BOOT_SECRET, in base64. */
  wrapped: string;
}

/** The object beside the archive. */
export interface Manifest {
  contents: Contents;
  /** The `.tar.zst` file as it is downloaded. */
  file: { bytes: number; sha256: string };
  /** Size of the encrypted object. */
  stored_bytes: number;
  made: { created_by: number | null; reason: "manual" | "nightly" | "safety"; verified_at: string };
  /** The archive's key, wrapped by a master key, and all master keys at that time. */
  keys: { master_version: number; wrapped: string; masters: MasterOnRecord[] };
}

export const dataKeyOf = (backupId: string) => `backups/${backupId}/data`;
export const manifestKeyOf = (backupId: string) => `backups/${backupId}/manifest`;
/** The master keys as BOOT_SECRET wraps them now, for a recovery from the store and BOOT_SECRET alone. */
export const keyringKey = "keyring";
export const manifestBytesMax = 1_048_576;

/** Derives one key per use from the archive's key. */
export function archiveKeys(key: Buffer): { data: KeyObject; manifest: KeyObject } {
  const derive = (use: string) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", key, "", `records archive ${use} v1`, 32)));
  return { data: derive("data"), manifest: derive("manifest") };
}

/** Serialises a manifest with its MAC. */
export function writeManifest(manifest: Manifest, key: KeyObject): Buffer {
  return Buffer.from(JSON.stringify({ manifest, code: codeOf(manifest, key) }, null, 1));
}

const codeOf = (manifest: Manifest, key: KeyObject): string =>
  createHmac("sha256", key)
    .update(canonicalize(manifest) ?? "")
    .digest("hex");

/** A manifest whose MAC was not verified yet. */
export interface UnprovedManifest {
  /** Not trustworthy, except for finding the key that verifies it. */
  manifest: Manifest;
  /** Verifies the MAC and the format. @throws ArchiveDamaged */
  prove(key: KeyObject): Manifest;
}

/** @throws ArchiveDamaged when the manifest is malformed */
export function readManifest(bytes: Buffer): UnprovedManifest {
  const { manifest, code } = parse(bytes);
  return {
    manifest,
    prove(key) {
      const right = Buffer.from(codeOf(manifest, key), "hex");
      const given = Buffer.from(code, "hex");
      if (given.length !== right.length || !timingSafeEqual(given, right))
        throw new ArchiveDamaged("The backup's manifest was changed, or is not the one it should be.");
      if (manifest.contents.format !== formatVersion)
        throw new ArchiveDamaged("The backup is of a form that this version does not read.");
      return manifest;
    },
  };
}

/** Checks the form of the fields that lead to the key. The MAC is verified before the others are used. */
function parse(bytes: Buffer): { manifest: Manifest; code: string } {
  try {
    const { manifest, code } = JSON.parse(bytes.toString("utf8")) as { manifest: Manifest; code: string };
    const { contents, keys } = manifest;
    const isWhole =
      typeof code === "string" &&
      /^bk_[0-9a-f]{32}$/.test(contents.backup_id) &&
      (contents.tenant_id === null || Number.isSafeInteger(contents.tenant_id)) &&
      Number.isSafeInteger(keys.master_version) &&
      typeof keys.wrapped === "string" &&
      Array.isArray(keys.masters);
    if (isWhole) return { manifest, code };
  } catch {
    // Falls through to the error below.
  }
  throw new ArchiveDamaged("The backup's manifest was changed, or is not the one it should be.");
}

/** The name under which an archive's key is wrapped, so that it opens no other backup or tenant. */
export const archiveNameOf = ({
  backup_id: id,
  tenant_id: tenantId,
}: Pick<Contents, "backup_id" | "tenant_id">) => `archive|${tenantId ?? "full"}|${id}`;

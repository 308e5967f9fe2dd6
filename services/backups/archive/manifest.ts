// What an archive is. One part travels in the archive itself, as its last file; with it the stored manifest names the file's
// own size and sum and the keys, and a code that only the archive's key makes: so nobody without the key can write one.
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
  /** Fingerprint of the installation's first master key. */
  installation: string;
  schema_version: string;
  taken_at: string;
  tables: ArchivedTable[];
  /** The end of the tenant's audit chain (of a full backup: the platform's) as the snapshot has it. */
  audit_head: { seq: number; hash: string } | null;
}

export interface MasterOnRecord {
  version: number;
  /** By BOOT_SECRET; base64. */
  wrapped: string;
}

/** The object beside the archive. */
export interface Manifest {
  contents: Contents;
  /** Of the `.tar.zst`, as it is downloaded. */
  file: { bytes: number; sha256: string };
  /** Of the encrypted object. */
  stored_bytes: number;
  made: { created_by: number | null; reason: "manual" | "nightly" | "safety"; verified_at: string };
  /** The archive's key, wrapped by a master key, and the master keys as they were then. */
  keys: { master_version: number; wrapped: string; masters: MasterOnRecord[] };
}

export const dataKeyOf = (backupId: string) => `backups/${backupId}/data`;
export const manifestKeyOf = (backupId: string) => `backups/${backupId}/manifest`;
/** The master keys as BOOT_SECRET wraps them now, for whoever has nothing but the store and it. */
export const keyringKey = "keyring";
export const manifestBytesMax = 1_048_576;

/** What the archive's key makes: one key per use. */
export function archiveKeys(key: Buffer): { data: KeyObject; manifest: KeyObject } {
  const derive = (use: string) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", key, "", `records archive ${use} v1`, 32)));
  return { data: derive("data"), manifest: derive("manifest") };
}

export function writeManifest(manifest: Manifest, key: KeyObject): Buffer {
  return Buffer.from(JSON.stringify({ manifest, code: codeOf(manifest, key) }, null, 1));
}

const codeOf = (manifest: Manifest, key: KeyObject): string =>
  createHmac("sha256", key)
    .update(canonicalize(manifest) ?? "")
    .digest("hex");

export interface UnprovedManifest {
  /** Nothing of it may be believed but the way to the key that proves it. */
  manifest: Manifest;
  /** @throws ArchiveDamaged */
  prove(key: KeyObject): Manifest;
}

/** @throws ArchiveDamaged when it is not even of the form */
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

/** The way to the key has the form it must have; the rest is proved by the code before it is looked at. */
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
    // Told below.
  }
  throw new ArchiveDamaged("The backup's manifest was changed, or is not the one it should be.");
}

/** What an archive's key is wrapped under the name of: it opens no other backup, nor one of another tenant. */
export const archiveNameOf = ({
  backup_id: id,
  tenant_id: tenantId,
}: Pick<Contents, "backup_id" | "tenant_id">) => `archive|${tenantId ?? "full"}|${id}`;

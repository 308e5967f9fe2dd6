// Conversion of a backup between its stored and its JSON form.
import type { PlainChange } from "../shared/database/change.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { toIso } from "../shared/wire.ts";
import type { Manifest } from "./archive/manifest.ts";
import type { backupShape } from "./backups.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

export type Backup = ValueOf<typeof backupShape>;

export type BackupRow = RowOf<
  "backups",
  | "id"
  | "type"
  | "tenant_id"
  | "size_bytes"
  | "rows"
  | "sha256"
  | "key_version"
  | "created_at"
  | "created_by"
  | "verified_at"
  | "reason"
  | "schema_version"
  | "tested_at"
  | "test_passed"
>;

export const backupColumns = `id, type, tenant_id, size_bytes, rows, sha256, key_version, created_at, created_by,
  verified_at, reason, schema_version, tested_at, test_passed`;

/** Converts a row to its JSON form. */
export function toBackup(row: BackupRow): Backup {
  return {
    backup_id: row.id,
    type: row.type,
    tenant_id: row.tenant_id,
    status: "succeeded",
    size_bytes: Number(row.size_bytes),
    rows: Number(row.rows),
    sha256: row.sha256,
    key_version: row.key_version,
    created_at: toIso(row.created_at),
    created_by: row.created_by,
    verified_at: toIso(row.verified_at),
    reason: row.reason,
    schema_version: row.schema_version,
    tested_at: row.tested_at === null ? null : toIso(row.tested_at),
    test_passed: row.test_passed,
  };
}

/** The number of rows in an archive. */
export const rowsIn = ({ contents }: Manifest): number =>
  contents.tables.reduce((sum, { rows }) => sum + rows, 0);

/** Lists a backup that is in the store. An earlier attempt may have listed it already. */
export async function listBackup(change: PlainChange, manifest: Manifest): Promise<void> {
  const { contents, file, made, keys } = manifest;
  await change.execute(
    `insert into backups (id, type, tenant_id, reason, schema_version, key_version, size_bytes, rows, sha256, created_by,
       created_at, verified_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
     on conflict (id) do update set schema_version = excluded.schema_version, key_version = excluded.key_version,
       size_bytes = excluded.size_bytes, rows = excluded.rows, sha256 = excluded.sha256,
       created_at = excluded.created_at, verified_at = excluded.verified_at, tested_at = null, test_passed = null`,
    [
      contents.backup_id,
      contents.type,
      contents.tenant_id,
      made.reason,
      contents.schema_version,
      keys.master_version,
      file.bytes,
      rowsIn(manifest),
      file.sha256,
      made.created_by,
      contents.taken_at,
      made.verified_at,
    ],
  );
}

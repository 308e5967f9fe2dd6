// Registers the store's backups in the database after a full restore, with their keys, so that they are
// listed, retained and restored as before.
import { Bulk } from "../../shared/database/bulk.ts";
import { withoutForce } from "../../shared/database/bulk-load.ts";
import { recordChange } from "../../shared/database/change.ts";
import { masterFingerprint, unwrapMasterKeyBytes } from "../../shared/sealing/wrapping.ts";
import { listBackup } from "../backup-row.ts";
import { system } from "../job-store.ts";
import { auditTenantOf } from "../audit-tenant.ts";
import type { FoundBackup } from "./find-backups.ts";

/** @returns the number of registered backups, which are those of this installation */
export async function adoptBackups(
  ownerUrl: string,
  found: readonly FoundBackup[],
  restored: FoundBackup,
  bootSecret: string,
  signal: AbortSignal,
): Promise<number> {
  const { installation } = restored.manifest.contents;
  const own = found.filter(({ manifest }) => manifest.contents.installation === installation);
  const bulk = await Bulk.open(ownerUrl, signal);
  try {
    await bulk.beginChange({ as: "owner" });
    await withoutForce(bulk, ["backups", "archive_keys", "audit_entries", "tenants"], () =>
      enter(bulk, own, restored, bootSecret),
    );
    await bulk.commit();
  } finally {
    await bulk.close();
  }
  return own.length;
}

async function enter(
  bulk: Bulk,
  own: readonly FoundBackup[],
  restored: FoundBackup,
  bootSecret: string,
): Promise<void> {
  const change = recordChange(<Row>(text: string, values: readonly unknown[] = []) =>
    bulk.query<Row & object>(text, values),
  );
  for (const { manifest, masters } of own) {
    const { contents, keys } = manifest;
    const wrapped = masters.get(keys.master_version);
    if (wrapped !== undefined) await enterMaster(bulk, bootSecret, keys.master_version, wrapped);
    await listBackup(change, manifest);
    await bulk.query(
      `insert into archive_keys (backup_id, tenant_id, master_version, wrapped, closed_at) values ($1, $2, $3, $4, now())
       on conflict do nothing`,
      [contents.backup_id, contents.tenant_id, keys.master_version, Buffer.from(keys.wrapped, "base64")],
    );
  }
  const { backup_id: id, taken_at: takenAt } = restored.manifest.contents;
  const tenantId = await auditTenantOf(change, null);
  if (tenantId !== undefined)
    change.audit({
      tenantId,
      action: "backup.restore",
      target: { type: "backup", id },
      changes: { type: "full", taken_at: takenAt, adopted: own.length },
    });
  await change.finish(system);
}

/** A master key created after the restored backup; later backups are wrapped by it. */
async function enterMaster(bulk: Bulk, bootSecret: string, version: number, wrapped: Buffer): Promise<void> {
  const key = unwrapMasterKeyBytes(bootSecret, version, wrapped);
  const fingerprint = masterFingerprint(key);
  key.fill(0);
  await bulk.query(
    `insert into master_keys (version, wrapped, fingerprint, state) values ($1, $2, $3, 'decrypt_only') on conflict do nothing`,
    [version, wrapped, fingerprint],
  );
}

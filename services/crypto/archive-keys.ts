// The keys of backup archives. Each archive has its own key, wrapped by the master key at the time of the
// backup. As long as its row exists, no key is destroyed that the archive may need (retire-keys.ts).
import { randomBytes } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { NotFound, Unavailable } from "../shared/errors.ts";
import type { ParamsOf, ValueOf } from "../shared/params/types.ts";
import {
  undefinedIfBroken,
  keyBytes,
  unwrapArchiveKey,
  unwrapMasterKey,
  wrapArchiveKey,
} from "../shared/sealing/wrapping.ts";
import type { archiveKeysContract } from "./archive-keys.contract.ts";
import { lockMasterKeys } from "./master-keys.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

type Contract = typeof archiveKeysContract;
type NewArchiveKey = ValueOf<Contract["crypto.make_archive_key"]["result"]>;

const wrappingNameOf = (backupId: string, tenantId: number | null) =>
  `archive|${tenantId ?? "full"}|${backupId}`;

type Master = RowOf<"master_keys", "version" | "wrapped" | "fingerprint" | "state", { wrapped: Buffer }>;

/**
 * Creates and stores the key of an archive. A backup that starts again gets a new key, so data written under
 * the first key can never be read.
 */
export function makeArchiveKey(
  call: Call<ParamsOf<Contract["crypto.make_archive_key"]>>,
): Promise<NewArchiveKey> {
  const { backup_id: backupId, tenant_id: tenantId } = call.params;
  return call.db.change(platform, call.caller, async (change) => {
    // Serialised with the end of a rotation: either the rotation sees this row, or this transaction sees the
    // keys that it left.
    await lockMasterKeys(change, "shared");
    const masters = await readMasters(change);
    const primary = masters.find(({ state }) => state === "primary");
    if (primary?.wrapped == null) throw new Error("there is no primary master key");
    const key = randomBytes(keyBytes);
    const master = unwrapMasterKey(call.runtime.secrets.boot, primary.version, primary.wrapped);
    const wrapped = wrapArchiveKey(master, wrappingNameOf(backupId, tenantId), key);
    await change.execute(
      `insert into archive_keys (backup_id, tenant_id, master_version, wrapped) values ($1, $2, $3, $4)
       on conflict (backup_id) do update set master_version = excluded.master_version, wrapped = excluded.wrapped,
         closed_at = null, created_at = now()`,
      [backupId, tenantId, primary.version, wrapped],
    );
    const made: NewArchiveKey = {
      key: key.toString("base64"),
      master_version: primary.version,
      wrapped: wrapped.toString("base64"),
      installation: masters[0]?.fingerprint.toString("hex") ?? "",
      masters: masters
        .filter(({ state }) => state !== "destroyed")
        .map((each) => ({ version: each.version, wrapped: each.wrapped.toString("base64") })),
    };
    key.fill(0);
    return made;
  });
}

function readMasters(change: Change): Promise<Master[]> {
  return change.execute<Master>(
    "select version, wrapped, fingerprint, state from master_keys order by version",
  );
}

/** Marks the archive as complete: keys created later cannot be in it. */
export async function closeArchiveKey(call: Call<{ backup_id: string }>): Promise<void> {
  await call.db.write(platform, call.caller, {
    name: "crypto.close_archive_key",
    text: "update archive_keys set closed_at = clock_timestamp() where backup_id = $1 and closed_at is null",
    values: [call.params.backup_id],
  });
}

type StoredKey = RowOf<
  "archive_keys",
  "tenant_id" | "wrapped" | "master_version",
  { master: Column<"master_keys", "wrapped">; installation: Buffer }
>;

/**
 * The archive's key in base64, and the installation's fingerprint in hex.
 * @throws NotFound, Unavailable `keys_unreadable`
 */
export async function openArchiveKey(
  call: Call<{ backup_id: string }>,
): Promise<{ key: string; installation: string }> {
  const { backup_id: backupId } = call.params;
  const row = await call.db.readOne<StoredKey>(platform, {
    name: "crypto.open_archive_key",
    text: `select a.tenant_id, a.wrapped, a.master_version, m.wrapped as master,
        (select fingerprint from master_keys order by version limit 1) as installation
      from archive_keys a join master_keys m on m.version = a.master_version where a.backup_id = $1`,
    values: [backupId],
  });
  if (row === undefined) throw new NotFound("Backup");
  const { boot } = call.runtime.secrets;
  const key = undefinedIfBroken(() => {
    const master = unwrapMasterKey(boot, row.master_version, row.master ?? Buffer.alloc(0));
    return unwrapArchiveKey(master, wrappingNameOf(backupId, row.tenant_id), row.wrapped);
  });
  if (key === undefined) throw new Unavailable("keys_unreadable", "The key of this backup cannot be opened");
  return { key: key.toString("base64"), installation: row.installation.toString("hex") };
}

/**
 * Deletes the key of a removed backup. The next sweep destroys the data keys that only this backup needed.
 */
export async function dropArchiveKey(call: Call<{ backup_id: string }>): Promise<void> {
  await call.db.write(platform, call.caller, {
    name: "crypto.drop_archive_key",
    text: "delete from archive_keys where backup_id = $1",
    values: [call.params.backup_id],
  });
}

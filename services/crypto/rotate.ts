// Starts a rotation. One transaction stores the new master key (wrapped by BOOT_SECRET), wraps all data keys
// by it, creates a new data key per tenant and records the work to do. The rotation takes effect when the
// transaction commits, and cannot be lost after that.
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, Invalid } from "../shared/errors.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { masterFingerprint, unwrapMasterKey, wrapMasterKey } from "../shared/sealing/wrapping.ts";
import type { cryptoContract } from "./crypto.contract.ts";
import { lockMasterKeys } from "./master-keys.ts";
import { readNewKey } from "./new-key.rules.ts";
import { platformTenantId } from "../shared/database/platform-tenant.ts";
import { renewFieldKeys, rewrapDataKeys } from "./rewrap-keys.ts";
import { sealedPlaces } from "./sealed-columns.ts";
import type { RowOf } from "../shared/database/row.ts";

type Started = ValueOf<(typeof cryptoContract)["crypto.rotate"]["result"]>;

/**
 * Characters of the fingerprint in the audit log: enough to identify the key, and the fingerprint does not
 * reveal it.
 */
const fingerprintChars = 16;

/**
 * @throws Invalid when the key is malformed, not random or was used before; Conflict `rotation_running`;
 * Unavailable `keys_unreadable`
 */
export async function rotate(call: Call<{ new_key: string }>): Promise<Started> {
  const read = readNewKey(call.params.new_key);
  if ("fault" in read) throw Invalid.body("new_key", read.fault);
  const { key } = read;
  try {
    return await call.db.change(platform, call.caller, (change) => startRotation(call, change, key));
  } finally {
    key.fill(0);
  }
}

async function startRotation(call: Call<unknown>, change: Change, key: Buffer): Promise<Started> {
  await lockMasterKeys(change, "exclusive");
  const fingerprint = masterFingerprint(key);
  // A fault of the request is reported before a temporary obstacle.
  const [used] = await change.execute("select version from master_keys where fingerprint = $1", [
    fingerprint,
  ]);
  if (used !== undefined) throw Invalid.body("new_key", "the key was used before");
  const [running] = await change.execute("select id from rotations where state = 'running'");
  if (running !== undefined)
    throw new Conflict("rotation_running", "A rotation is under way; wait until it is finished");
  const previous = await retirePrimary(change);
  const version = previous + 1;
  const { boot } = call.runtime.secrets;
  const wrapped = wrapMasterKey(boot, version, key);
  await change.execute(
    "insert into master_keys (version, wrapped, fingerprint, state) values ($1, $2, $3, 'primary')",
    [version, wrapped, fingerprint],
  );
  const newMaster = { version, key: unwrapMasterKey(boot, version, wrapped) };
  const rewrapped = await rewrapDataKeys(change, boot, newMaster, call.runtime.log);
  const tenantIds = await renewFieldKeys(change, newMaster);
  const rows = await countSealedRows(change);
  const id = await recordRotation(change, { version, previous, rewrapped, rows, tenantIds });
  change.audit({
    tenantId: await platformTenantId(change),
    action: "encryption.rotate",
    target: { type: "rotation", id },
    changes: {
      key_version: version,
      previous_version: previous,
      fingerprint: fingerprint.toString("hex").slice(0, fingerprintChars),
      rewrapped,
    },
  });
  return {
    job_id: String(id),
    key_version: version,
    previous_version: previous,
    status: "running",
    rewrapped,
    rows_total: rows,
    rows_done: 0,
  };
}

/** @returns the version of the key that was in use */
async function retirePrimary(change: Change): Promise<number> {
  const retired = await change.one<RowOf<"master_keys", "version">>(
    "update master_keys set state = 'decrypt_only' where state = 'primary' returning version",
  );
  return retired.version;
}

async function countSealedRows(change: Change): Promise<number> {
  let rows = 0;
  for (const { table } of sealedPlaces) {
    const counted = await change.one<{ rows: number }>(`select count(*)::integer as rows from ${table}`);
    rows += counted.rows;
  }
  return rows;
}

interface NewRotation {
  version: number;
  previous: number;
  rewrapped: number;
  rows: number;
  tenantIds: readonly number[];
}

async function recordRotation(change: Change, rotation: NewRotation): Promise<number> {
  const made = await change.one<RowOf<"rotations", "id">>(
    `insert into rotations (master_version, previous_version, rewrapped, rows_total, tenants_total)
     values ($1, $2, $3, $4, $5) returning id`,
    [rotation.version, rotation.previous, rotation.rewrapped, rotation.rows, rotation.tenantIds.length],
  );
  await change.execute(
    `insert into rotation_tenants (rotation_id, tenant_id)
     select $1, tenant from unnest($2::integer[]) tenant`,
    [made.id, rotation.tenantIds],
  );
  return made.id;
}

// A tenant's data keys: read and unwrapped for the services that seal, created at first use. Nothing is
// cached here, so no node can return a state older than the database's.
import { randomBytes } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { NotFound, Unavailable } from "../shared/errors.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { KeyOnWire } from "../shared/sealing/tenant-keys.ts";
import {
  undefinedIfBroken,
  keyBytes,
  type KeyPurpose,
  unwrapDataKey,
  unwrapMasterKey,
  wrapDataKey,
} from "../shared/sealing/wrapping.ts";
import { lockMasterKeys } from "./master-keys.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

type KeysCall = Call<{ tenant_id: number; worn_key_id?: number | null }>;

/** A tenant has a handful. Primary keys come first, then the newest. */
const keysMax = 100;
const purposes: readonly KeyPurpose[] = ["field", "index"];

type Row = RowOf<
  "data_keys",
  "id" | "purpose" | "state" | "wrapped" | "master_version",
  {
    state: KeyOnWire["state"];
    wrapped: Buffer;
    master_wrapped: NonNullable<Column<"master_keys", "wrapped">>;
  }
>;

/**
 * The tenant's usable keys. Creates missing ones and replaces a worn one.
 * @throws NotFound, Unavailable `keys_unreadable`
 */
export async function tenantKeys(call: KeysCall): Promise<{ keys: KeyOnWire[] }> {
  const { tenant_id: tenantId, worn_key_id: wornKeyId = null } = call.params;
  const present = await readRows(call.db, tenantId);
  const complete = purposes.every((purpose) =>
    present.some((row) => row.purpose === purpose && row.state === "primary" && row.id !== wornKeyId),
  );
  if (complete) return { keys: unwrapAll(call.runtime, tenantId, present) };
  await call.db.change(platform, call.caller, (change) => makeMissing(call, change, tenantId, wornKeyId));
  return { keys: await readKeys(call.runtime, tenantId) };
}

/**
 * The tenant's current keys, unwrapped; creates none.
 * @throws Unavailable `keys_unreadable` when a primary key does not open
 */
export async function readKeys(runtime: Runtime, tenantId: number): Promise<KeyOnWire[]> {
  return unwrapAll(runtime, tenantId, await readRows(runtime.database, tenantId));
}

/** In the platform scope, because a tenant's scope cannot read keys. */
function readRows(database: Database, tenantId: number): Promise<Row[]> {
  return database.read<Row>(platform, {
    name: "crypto.tenant_keys",
    text: `select d.id, d.purpose, d.state, d.wrapped, d.master_version, m.wrapped as master_wrapped
      from data_keys d join master_keys m on m.version = d.master_version
      where d.tenant_id = $1 and d.state <> 'destroyed' order by d.state = 'primary' desc, d.id desc limit ${keysMax}`,
    values: [tenantId],
  });
}

/**
 * Skips a broken key that is not primary: fields sealed with it are lost (reason `key`), the tenant's other
 * fields are not.
 */
function unwrapAll({ secrets, log }: Runtime, tenantId: number, rows: readonly Row[]): KeyOnWire[] {
  const { boot } = secrets;
  const keys: KeyOnWire[] = [];
  for (const { id, purpose, state, wrapped, master_version: version, master_wrapped: master } of rows) {
    const name = { tenantId, purpose, id };
    const key = undefinedIfBroken(() => unwrapDataKey(unwrapMasterKey(boot, version, master), name, wrapped));
    if (key !== undefined) {
      keys.push({ id, purpose, state, key: key.toString("base64") });
      continue;
    }
    log.error({ tenantId, keyId: id, purpose, state }, "a key of a tenant cannot be unwrapped");
    if (state === "primary")
      throw new Unavailable("keys_unreadable", "The keys of this tenant cannot be opened");
  }
  return keys;
}

/**
 * Creates missing keys under the tenant's row lock: of concurrent first uses one creates them and the others
 * find them.
 */
async function makeMissing(
  call: KeysCall,
  change: Change,
  tenantId: number,
  wornKeyId: number | null,
): Promise<void> {
  await lockMasterKeys(change, "shared");
  const [tenant] = await change.execute(
    "select id from tenants where id = $1 and deleted_at is null for no key update",
    [tenantId],
  );
  if (tenant === undefined) throw new NotFound("Tenant");
  await change.execute(
    `update data_keys set state = 'decrypt_only', demoted_at = now()
     where tenant_id = $1 and id = $2 and state = 'primary' and purpose = 'field'`,
    [tenantId, wornKeyId],
  );
  const present = await change.execute<RowOf<"data_keys", "purpose">>(
    "select purpose from data_keys where tenant_id = $1 and state = 'primary'",
    [tenantId],
  );
  for (const purpose of purposes) {
    if (!present.some((row) => row.purpose === purpose)) await makeKey(call, change, tenantId, purpose);
  }
}

async function makeKey(call: KeysCall, change: Change, tenantId: number, purpose: KeyPurpose): Promise<void> {
  const drawn = await change.one<
    RowOf<"master_keys", "version" | "wrapped", { id: number; wrapped: Buffer }>
  >(
    `select nextval('data_keys_id_seq')::integer as id, version, wrapped from master_keys where state = 'primary'`,
  );
  const { id, version, wrapped } = drawn;
  const key = randomBytes(keyBytes);
  const master = unwrapMasterKey(call.runtime.secrets.boot, version, wrapped);
  await change.execute(
    `insert into data_keys (id, tenant_id, purpose, master_version, wrapped, state)
     values ($1, $2, $3, $4, $5, 'primary')`,
    [id, tenantId, purpose, version, wrapDataKey(master, { tenantId, purpose, id }, key)],
  );
  key.fill(0);
  const changes = { purpose, master_version: version };
  change.audit({ tenantId, action: "encryption.create_key", target: { type: "data_key", id }, changes });
}

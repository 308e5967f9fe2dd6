// Phase 1 of a rotation, in its single transaction: all data keys are wrapped by the new master key, and
// every tenant gets a new data key. Works in pages, so memory does not grow with the number of tenants. A
// data key that does not open does not stop the rotation: it stays unchanged, and so does the master key that
// wraps it.
import { randomBytes, type KeyObject } from "node:crypto";
import type { Change } from "../shared/database/change.ts";
import { Unavailable } from "../shared/errors.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import {
  undefinedIfBroken,
  keyBytes,
  unwrapDataKey,
  unwrapMasterKey,
  wrapDataKey,
} from "../shared/sealing/wrapping.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

const pageMax = 2_000;
/** At most this many keys that do not open are logged one by one. */
const namedMax = 100;

/** An unwrapped master key. */
export interface MasterKey {
  version: number;
  key: KeyObject;
}

type DataKeyRow = RowOf<"data_keys", "id" | "tenant_id" | "purpose" | "wrapped"> &
  RowOf<"master_keys", "version"> & {
    wrapped: Buffer;
    master: NonNullable<Column<"master_keys", "wrapped">>;
  };

/**
 * Wraps all data keys by the new master key.
 * @param log receives the data keys that do not open
 * @returns the number of data keys that were wrapped again
 * @throws Unavailable `keys_unreadable` when a master key does not open: then BOOT_SECRET is wrong, and
 * nothing may be written
 */
export async function rewrapDataKeys(
  change: Change,
  bootSecret: string,
  newMaster: MasterKey,
  log: Pick<Runtime["log"], "error">,
): Promise<number> {
  const masters = new Map<number, KeyObject>();
  let rewrapped = 0;
  let broken = 0;
  for (let after = 0; ; ) {
    const page = await change.execute<DataKeyRow>(
      `select d.id, d.tenant_id, d.purpose, d.wrapped, m.version, m.wrapped as master
       from data_keys d join master_keys m on m.version = d.master_version
       where d.state <> 'destroyed' and d.id > $1 order by d.id limit ${pageMax}`,
      [after],
    );
    if (page.length === 0) break;
    const wrappedKeys: { id: number; wrapped: Buffer }[] = [];
    for (const row of page) {
      const known = masters.get(row.version) ?? openMasterKey(bootSecret, row);
      masters.set(row.version, known);
      const again = rewrap(known, newMaster, row);
      if (again !== undefined) wrappedKeys.push({ id: row.id, wrapped: again });
      else if (++broken <= namedMax)
        log.error({ tenantId: row.tenant_id, keyId: row.id }, "a key that does not open is not wrapped anew");
    }
    await change.execute(
      `update data_keys d set wrapped = u.wrapped, master_version = $1
       from unnest($2::integer[], $3::bytea[]) as u (id, wrapped) where d.id = u.id`,
      [newMaster.version, wrappedKeys.map(({ id }) => id), wrappedKeys.map(({ wrapped }) => wrapped)],
    );
    rewrapped += wrappedKeys.length;
    after = page.at(-1)?.id ?? Number.POSITIVE_INFINITY;
  }
  if (broken > 0) log.error({ broken, rewrapped }, "keys that do not open stay under their old master key");
  return rewrapped;
}

function openMasterKey(bootSecret: string, { version, master }: DataKeyRow): KeyObject {
  const key = undefinedIfBroken(() => unwrapMasterKey(bootSecret, version, master));
  if (key === undefined) throw new Unavailable("keys_unreadable", `Master key ${version} cannot be opened`);
  return key;
}

/** @returns undefined when the data key does not open */
function rewrap(
  master: KeyObject,
  newMaster: MasterKey,
  { id, tenant_id: tenantId, purpose, wrapped }: DataKeyRow,
): Buffer | undefined {
  const name = { id, tenantId, purpose };
  const key = undefinedIfBroken(() => unwrapDataKey(master, name, wrapped));
  if (key === undefined) return undefined;
  const again = wrapDataKey(newMaster.key, name, key);
  key.fill(0);
  return again;
}

/**
 * Creates a new field key for every tenant that has one; the previous key only opens from now on. @returns
 * the tenants' ids
 */
export async function renewFieldKeys(change: Change, newMaster: MasterKey): Promise<number[]> {
  const demoted = await change.execute<RowOf<"data_keys", "tenant_id">>(
    `update data_keys set state = 'decrypt_only', demoted_at = now()
     where purpose = 'field' and state = 'primary' returning tenant_id`,
  );
  const tenantIds = demoted.map((row) => row.tenant_id).sort((a, b) => a - b);
  for (let start = 0; start < tenantIds.length; start += pageMax) {
    const page = tenantIds.slice(start, start + pageMax);
    const ids = await change.execute<{ id: number }>(
      "select nextval('data_keys_id_seq')::integer as id from generate_series(1, $1::integer)",
      [page.length],
    );
    const newKeys = page.map((tenantId, at) => {
      const id = ids[at]?.id ?? 0;
      const key = randomBytes(keyBytes);
      const wrapped = wrapDataKey(newMaster.key, { tenantId, purpose: "field", id }, key);
      key.fill(0);
      return { id, tenantId, wrapped };
    });
    await change.execute(
      `insert into data_keys (id, tenant_id, purpose, master_version, wrapped, state)
       select u.id, u.tenant_id, 'field', $1, u.wrapped, 'primary'
       from unnest($2::integer[], $3::integer[], $4::bytea[]) as u (id, tenant_id, wrapped)`,
      [
        newMaster.version,
        newKeys.map(({ id }) => id),
        newKeys.map(({ tenantId }) => tenantId),
        newKeys.map(({ wrapped }) => wrapped),
      ],
    );
  }
  return tenantIds;
}

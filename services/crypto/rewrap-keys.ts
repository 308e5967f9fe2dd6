// Phase 1 of a rotation, inside its one transaction: every data key is wrapped anew by the new master key, and every
// tenant gets a new key to seal with. In pages, so that memory stays flat however many tenants there are. A data key that
// does not open stops nobody's rotation: it stays as it is, and so does the master key that wraps it.
import { randomBytes, type KeyObject } from "node:crypto";
import type { Change } from "../shared/database/change.ts";
import { Unavailable } from "../shared/errors.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import {
  ifItOpens,
  keyBytes,
  type KeyPurpose,
  unwrapDataKey,
  unwrapMasterKey,
  wrapDataKey,
} from "../shared/sealing/wrapping.ts";

const pageMax = 2_000;
/** So many keys that do not open are named one by one. */
const namedMax = 100;

export interface MasterKey {
  version: number;
  key: KeyObject;
}

interface DataKeyRow {
  id: number;
  tenant_id: number;
  purpose: KeyPurpose;
  wrapped: Buffer;
  version: number;
  master: Buffer;
}

/**
 * @param log told of keys that do not open
 * @returns how many data keys were wrapped anew
 * @throws Unavailable when a master key does not open: then BOOT_SECRET is not the one, and nothing may be written
 */
export async function rewrapDataKeys(
  change: Change,
  bootSecret: string,
  fresh: MasterKey,
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
    const anew: { id: number; wrapped: Buffer }[] = [];
    for (const row of page) {
      const known = masters.get(row.version) ?? openMasterKey(bootSecret, row);
      masters.set(row.version, known);
      const again = wrapAgain(known, fresh, row);
      if (again !== undefined) anew.push({ id: row.id, wrapped: again });
      else if (++broken <= namedMax)
        log.error({ tenantId: row.tenant_id, keyId: row.id }, "a key that does not open is not wrapped anew");
    }
    await change.execute(
      `update data_keys d set wrapped = u.wrapped, master_version = $1
       from unnest($2::integer[], $3::bytea[]) as u (id, wrapped) where d.id = u.id`,
      [fresh.version, anew.map(({ id }) => id), anew.map(({ wrapped }) => wrapped)],
    );
    rewrapped += anew.length;
    after = page.at(-1)?.id ?? Number.POSITIVE_INFINITY;
  }
  if (broken > 0) log.error({ broken, rewrapped }, "keys that do not open stay under their old master key");
  return rewrapped;
}

function openMasterKey(bootSecret: string, { version, master }: DataKeyRow): KeyObject {
  const key = ifItOpens(() => unwrapMasterKey(bootSecret, version, master));
  if (key === undefined) throw new Unavailable("keys_unreadable", `Master key ${version} cannot be opened`);
  return key;
}

/** @returns undefined when the data key does not open */
function wrapAgain(
  master: KeyObject,
  fresh: MasterKey,
  { id, tenant_id: tenantId, purpose, wrapped }: DataKeyRow,
): Buffer | undefined {
  const name = { id, tenantId, purpose };
  const key = ifItOpens(() => unwrapDataKey(master, name, wrapped));
  if (key === undefined) return undefined;
  const again = wrapDataKey(fresh.key, name, key);
  key.fill(0);
  return again;
}

/** Every tenant that has sealed anything gets a new key; the one before it only opens from now on. */
export async function renewFieldKeys(change: Change, fresh: MasterKey): Promise<number[]> {
  const demoted = await change.execute<{ tenant_id: number }>(
    `update data_keys set state = 'decrypt_only', demoted_at = now()
     where purpose = 'field' and state = 'primary' returning tenant_id`,
  );
  const tenantIds = demoted.map((row) => row.tenant_id).sort((a, b) => a - b);
  for (let start = 0; start < tenantIds.length; start += pageMax) {
    const page = tenantIds.slice(start, start + pageMax);
    const drawn = await change.execute<{ id: number }>(
      "select nextval('data_keys_id_seq')::integer as id from generate_series(1, $1::integer)",
      [page.length],
    );
    const made = page.map((tenantId, at) => {
      const id = drawn[at]?.id ?? 0;
      const key = randomBytes(keyBytes);
      const wrapped = wrapDataKey(fresh.key, { tenantId, purpose: "field", id }, key);
      key.fill(0);
      return { id, tenantId, wrapped };
    });
    await change.execute(
      `insert into data_keys (id, tenant_id, purpose, master_version, wrapped, state)
       select u.id, u.tenant_id, 'field', $1, u.wrapped, 'primary'
       from unnest($2::integer[], $3::integer[], $4::bytea[]) as u (id, tenant_id, wrapped)`,
      [
        fresh.version,
        made.map(({ id }) => id),
        made.map(({ tenantId }) => tenantId),
        made.map(({ wrapped }) => wrapped),
      ],
    );
  }
  return tenantIds;
}

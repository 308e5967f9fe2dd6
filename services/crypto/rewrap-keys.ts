// Phase 1 of a rotation, inside its one transaction: every data key is wrapped anew by the new master key, and every
// tenant gets a new key to seal with. In pages, so that memory stays flat however many tenants there are.
import { randomBytes, type KeyObject } from "node:crypto";
import type { Change } from "../shared/database/change.ts";
import {
  keyBytes,
  type KeyPurpose,
  unwrapDataKey,
  unwrapMasterKey,
  wrapDataKey,
} from "../shared/sealing/wrapping.ts";

const pageMax = 2_000;

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

/** @returns how many data keys were wrapped anew */
export async function rewrapDataKeys(change: Change, bootSecret: string, fresh: MasterKey): Promise<number> {
  const masters = new Map<number, KeyObject>();
  let rewrapped = 0;
  for (let after = 0; ; ) {
    const page = await change.execute<DataKeyRow>(
      `select d.id, d.tenant_id, d.purpose, d.wrapped, m.version, m.wrapped as master
       from data_keys d join master_keys m on m.version = d.master_version
       where d.state <> 'destroyed' and d.id > ? order by d.id limit ${pageMax}`,
      [after],
    );
    if (page.length === 0) return rewrapped;
    const anew = page.map(({ id, tenant_id: tenantId, purpose, wrapped, version, master }) => {
      const known = masters.get(version) ?? unwrapMasterKey(bootSecret, version, master);
      masters.set(version, known);
      const name = { id, tenantId, purpose };
      const key = unwrapDataKey(known, name, wrapped);
      const again = wrapDataKey(fresh.key, name, key);
      key.fill(0);
      return { id, wrapped: again.toString("hex") };
    });
    await change.execute(
      `update data_keys d set wrapped = decode(u.wrapped, 'hex'), master_version = ?
       from json_to_recordset(?::json) as u (id integer, wrapped text) where d.id = u.id`,
      [fresh.version, JSON.stringify(anew)],
    );
    rewrapped += page.length;
    after = page.at(-1)?.id ?? Number.POSITIVE_INFINITY;
  }
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
      "select nextval('data_keys_id_seq')::integer as id from generate_series(1, ?::integer)",
      [page.length],
    );
    const made = page.map((tenantId, at) => {
      const id = drawn[at]?.id ?? 0;
      const key = randomBytes(keyBytes);
      const wrapped = wrapDataKey(fresh.key, { tenantId, purpose: "field", id }, key);
      key.fill(0);
      return { id, tenant_id: tenantId, wrapped: wrapped.toString("hex") };
    });
    await change.execute(
      `insert into data_keys (id, tenant_id, purpose, master_version, wrapped, state)
       select u.id, u.tenant_id, 'field', ?, decode(u.wrapped, 'hex'), 'primary'
       from json_to_recordset(?::json) as u (id integer, tenant_id integer, wrapped text)`,
      [fresh.version, JSON.stringify(made)],
    );
  }
  return tenantIds;
}

// Tenants' keys read past the service, by whoever holds BOOT_SECRET and the database: to put sealed rows there, and to
// look at what lies there.
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { TenantKeys } from "../../services/shared/sealing/tenant-keys.ts";
import {
  type KeyPurpose,
  unwrapDataKey,
  unwrapMasterKey,
  wrapDataKey,
} from "../../services/shared/sealing/wrapping.ts";

/** A patient's identity as the text that is sealed. */
export function identityText(full_name: string, birth_date: string | null, phone: string | null): string {
  return JSON.stringify({ full_name, birth_date, phone });
}

interface Row {
  id: number;
  purpose: KeyPurpose;
  state: "primary" | "decrypt_only";
  wrapped: Buffer;
  version: number;
  master: Buffer;
}

export class TestKeyring {
  readonly #owner: Pick<pg.Pool, "query">;
  readonly #bootSecret: string;
  readonly #known = new Map<number, Promise<TenantKeys>>();

  readonly #makes: boolean;

  /** @param options `makes: false`: reads only */
  constructor(owner: Pick<pg.Pool, "query">, bootSecret: string, { makes = true } = {}) {
    this.#makes = makes;
    this.#owner = owner;
    this.#bootSecret = bootSecret;
  }

  /** The keys the tenant had when first asked for; made if there were none. */
  of(tenantId: number): Promise<TenantKeys> {
    const known = this.#known.get(tenantId) ?? this.#read(tenantId);
    this.#known.set(tenantId, known);
    return known;
  }

  async #read(tenantId: number): Promise<TenantKeys> {
    for (const purpose of this.#makes ? (["field", "index"] as const) : [])
      await this.#ensure(tenantId, purpose);
    const { rows } = await this.#owner.query<Row>(
      `select d.id, d.purpose, d.state, d.wrapped, m.version, m.wrapped as master
       from data_keys d join master_keys m on m.version = d.master_version
       where d.tenant_id = $1 and d.state <> 'destroyed'`,
      [tenantId],
    );
    const keys = rows.map(({ id, purpose, state, wrapped, version, master }) => {
      const opened = unwrapMasterKey(this.#bootSecret, version, master);
      return {
        id,
        purpose,
        state,
        key: unwrapDataKey(opened, { tenantId, purpose, id }, wrapped).toString("base64"),
      };
    });
    return new TenantKeys(tenantId, keys, () => ({ seals: 0 }));
  }

  async #ensure(tenantId: number, purpose: KeyPurpose): Promise<void> {
    const { rows } = await this.#owner.query(
      `select nextval('data_keys_id_seq')::integer as id, version, wrapped from master_keys where state = 'primary'`,
    );
    const [{ id, version, wrapped: master }] = rows;
    const wrapped = wrapDataKey(
      unwrapMasterKey(this.#bootSecret, version, master),
      { tenantId, purpose, id },
      randomBytes(32),
    );
    await this.#owner.query(
      `insert into data_keys (id, tenant_id, purpose, master_version, wrapped, state)
       values ($1, $2, $3, $4, $5, 'primary') on conflict do nothing`,
      [id, tenantId, purpose, version, wrapped],
    );
  }
}

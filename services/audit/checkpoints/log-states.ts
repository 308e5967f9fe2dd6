// The state of each tenant's log according to the database: its head, its last signed position, and the
// result of its last verification.
import { Caller } from "../../shared/caller.ts";
import type { Database } from "../../shared/database/database.ts";
import { platform } from "../../shared/database/scope.ts";
import type { Link } from "../audit.rules.ts";
import type { Column, RowOf } from "../../shared/database/row.ts";

/** The state of a log. */
export interface LogState {
  tenantId: number;
  /** The newest entry; undefined when the database has none. */
  head: Link | undefined;
  /** The newest signed entry. */
  signed: Link | undefined;
}

type Row = {
  tenant_id: number;
  seq: Column<"audit_heads", "seq"> | null;
  hash: string;
  signed_seq: Column<"audit_proofs", "seq"> | null;
  signed_hash: string;
};

/** One page, in the order of the tenants' ids, after `after`. */
export async function readLogStates(db: Database, after: number, limit: number): Promise<LogState[]> {
  const rows = await db.read<Row>(platform, {
    name: "audit.standings",
    text: `select tenant_id, h.seq, encode(h.hash, 'hex') as hash, p.seq as signed_seq, encode(p.hash, 'hex') as signed_hash
      from (select tenant_id from audit_heads where tenant_id > $1
          union select tenant_id from audit_proofs where tenant_id > $1 order by tenant_id limit $2) t
        left join audit_heads h using (tenant_id) left join audit_proofs p using (tenant_id) order by tenant_id`,
    values: [after, limit],
  });
  const positionOf = (seq: string | null, hash: string) =>
    seq === null ? undefined : { seq: Number(seq), hash };
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    head: positionOf(row.seq, row.hash),
    signed: positionOf(row.signed_seq, row.signed_hash),
  }));
}

/** Tenants whose complete log was not verified for a day, the longest first. */
export async function unverifiedTenants(db: Database, limit: number): Promise<number[]> {
  const rows = await db.read<RowOf<"audit_proofs", "tenant_id">>(platform, {
    name: "audit.unproved",
    text: `select tenant_id from audit_proofs where proved_at is null or proved_at < now() - interval '1 day'
      order by proved_at nulls first, tenant_id limit $1`,
    values: [limit],
  });
  return rows.map(({ tenant_id: id }) => id);
}

/**
 * Stores the result of verifying a complete log. A log that was never signed has no row yet; then nothing is
 * stored.
 */
export async function saveProof(db: Database, tenantId: number, firstBad: number | null): Promise<void> {
  await db.write(platform, Caller.system("audit"), {
    name: "audit.keep_proof",
    text: "update audit_proofs set proved_at = now(), first_bad_seq = $2 where tenant_id = $1",
    values: [tenantId, firstBad],
  });
}

/** The state of all logs, for the metrics. */
export interface Proofs {
  /** When a log was last signed, in seconds since 1970; undefined when none was. */
  signed: number | undefined;
  /** The time of the oldest verification of a complete log; undefined when one was never verified. */
  proved: number | undefined;
  /** 1 unless a verification has found a fault. */
  ok: number | undefined;
}

/** Reads the state over all tenants. */
export async function readProofs(db: Database): Promise<Proofs> {
  const row = await db.readOne<Record<keyof Proofs, number | null>>(platform, {
    name: "audit.proofs",
    text: `select extract(epoch from max(signed_at))::float8 as signed, bool_and(first_bad_seq is null)::integer as ok,
        case when bool_and(proved_at is not null) then extract(epoch from min(proved_at))::float8 end as proved
      from audit_proofs`,
    values: [],
  });
  return { signed: row?.signed ?? undefined, proved: row?.proved ?? undefined, ok: row?.ok ?? undefined };
}

// Entries of one tenant as they are stored, in the order of their numbers: for whoever recomputes the chain.
import type { Database } from "../shared/database/database.ts";
import { type AuditRow, storedColumns, toAuditEntry } from "./audit-row.ts";
import type { Link, StoredEntry } from "./audit.rules.ts";
import type { Column } from "../shared/database/row.ts";

/** @returns those numbered from behind `after` up to and with `upTo`, at most `limit` */
export async function readEntries(
  db: Database,
  tenantId: number,
  { after, upTo, limit }: { after: number; upTo: number; limit: number },
): Promise<StoredEntry[]> {
  const rows = await db.read<AuditRow & { changes: string }>(
    { tenantId },
    {
      name: "audit.entries",
      text: `select ${storedColumns} from audit_entries
        where tenant_id = $1 and seq > $2 and seq <= $3 order by seq limit $4`,
      values: [tenantId, after, upTo, limit],
    },
  );
  return rows.map((row) => ({ ...toAuditEntry(row), changes: row.changes }));
}

export interface LogEnds {
  /** What the database says is the last entry; undefined: it knows of none. */
  head: Link | undefined;
  /** Numbers of the first and the last entry that are there; null: none is. */
  first: number | null;
  last: number | null;
}

/** By one statement, so that entries which are written meanwhile are not taken for strays. */
export async function readEnds(db: Database, tenantId: number): Promise<LogEnds> {
  const row = await db.readOne<{
    seq: Column<"audit_heads", "seq"> | null;
    hash: string;
    first: string | null;
    last: string | null;
  }>(
    { tenantId },
    {
      name: "audit.ends",
      text: `select h.seq, encode(h.hash, 'hex') as hash,
          (select min(seq) from audit_entries where tenant_id = $1) as first,
          (select max(seq) from audit_entries where tenant_id = $1) as last
        from (select $1::integer as tenant_id) t left join audit_heads h using (tenant_id)`,
      values: [tenantId],
    },
  );
  const number = (seq: string | null | undefined) => (seq == null ? null : Number(seq));
  const head = row?.seq == null ? undefined : { seq: Number(row.seq), hash: row.hash };
  return { head, first: number(row?.first), last: number(row?.last) };
}

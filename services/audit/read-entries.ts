// Reads the stored entries of a tenant in the order of their numbers, to recompute the chain.
import type { Database } from "../shared/database/database.ts";
import { type AuditRow, storedColumns, toAuditEntry } from "./audit-row.ts";
import type { Link, StoredEntry } from "./audit.rules.ts";
import type { Column } from "../shared/database/row.ts";

/** @returns the entries with numbers above `after` up to and including `upTo`, at most `limit` */
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

/** The ends of a log. */
export interface LogEnds {
  /** The last entry according to audit_heads; undefined when there is none. */
  head: Link | undefined;
  /** The numbers of the first and last existing entries; null when none exists. */
  first: number | null;
  last: number | null;
}

/** Uses one statement, so that entries written meanwhile are not reported as stray. */
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

// Conversion of an audit entry between its stored and its JSON form.
import type { AuditEntry } from "./audit.contract.ts";
import { toIso } from "../shared/wire.ts";
import type { RowOf } from "../shared/database/row.ts";

/** A stored entry. bigint columns are read as text; the statement encodes the hashes as hex. */
export type AuditRow = Omit<AuditEntry, "id" | "seq"> & RowOf<"audit_entries", "id" | "seq">;

const columnsWith = (
  changes: string,
) => `id, seq, tenant_id, user_id, action, target_type, target_id, outcome, ${changes},
  ip, user_agent, request_id, created_at, encode(prev_hash, 'hex') as prev_hash, encode(hash, 'hex') as hash`;

/** The columns, with `changes` as JSON value. */
export const auditColumns = columnsWith("changes");
/** The columns, with `changes` as the stored text, which was hashed. */
export const storedColumns = columnsWith("changes::text as changes");

/** Converts a row to its JSON form. */
export function toAuditEntry(row: AuditRow): AuditEntry {
  return {
    ...row,
    id: Number(row.id),
    seq: Number(row.seq),
    created_at: toIso(row.created_at),
  };
}

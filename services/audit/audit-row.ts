// An audit entry as stored, and on the wire.
import type { AuditEntry } from "./audit.contract.ts";
import { toIso } from "../shared/wire.ts";
import type { RowOf } from "../shared/database/row.ts";

/** bigint columns come as text, hashes are encoded by the statement. */
export type AuditRow = Omit<AuditEntry, "id" | "seq"> & RowOf<"audit_entries", "id" | "seq">;

const columnsWith = (
  changes: string,
) => `id, seq, tenant_id, user_id, action, target_type, target_id, outcome, ${changes},
  ip, user_agent, request_id, created_at, encode(prev_hash, 'hex') as prev_hash, encode(hash, 'hex') as hash`;

/** With `changes` as the value that it holds. */
export const auditColumns = columnsWith("changes");
/** With `changes` as the text that is stored. */
export const storedColumns = columnsWith("changes::text as changes");

export function toAuditEntry(row: AuditRow): AuditEntry {
  return {
    ...row,
    id: Number(row.id),
    seq: Number(row.seq),
    created_at: toIso(row.created_at),
  };
}

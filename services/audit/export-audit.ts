// Exports complete entries as they were hashed, in the order of their numbers, page by page, for verification
// outside the service.
import type { Call } from "../shared/bus/bus.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { tenantToActIn } from "../shared/administered-scope.ts";
import type { AuditEntry, auditContract } from "./audit.contract.ts";
import { type AuditRow, auditColumns, toAuditEntry } from "./audit-row.ts";

type Params = ParamsOf<(typeof auditContract)["audit.export"]>;

interface Exported {
  entries: AuditEntry[];
  next_after_seq: number | null;
}

/** Bound of the bytes of `changes` in a page. A page of a thousand entries is usually far below it. */
const bytesMax = 4_000_000;

/** One page. The export itself is recorded in the audit log. */
export async function exportAudit(call: Call<Params>): Promise<Exported> {
  const { after_seq: after, limit } = call.params;
  const tenantId = tenantToActIn(call.caller, call.params.tenant_id) ?? 0;
  const rows = await call.db.read<AuditRow & { last: string }>(
    { tenantId },
    {
      name: "audit.export",
      text: `select ${auditColumns}, last from (
          select *, sum(octet_length(changes::text)) over (order by seq) - octet_length(changes::text) as before,
            (select max(seq) from audit_entries where tenant_id = $1) as last
          from (select * from audit_entries where tenant_id = $1 and seq > $2 order by seq limit $3) page) sized
        where before < ${bytesMax} order by seq`,
      values: [tenantId, after, limit],
    },
  );
  const entries = rows.map(({ last: _last, ...row }) => toAuditEntry(row));
  const end = entries.at(-1)?.seq;
  if (end !== undefined) {
    const changes = { after_seq: after, entries: entries.length };
    await call.db.recordRead(call.caller, { tenantId, action: "audit.export", changes });
  }
  return { entries, next_after_seq: end === undefined || end >= Number(rows[0]?.last) ? null : end };
}

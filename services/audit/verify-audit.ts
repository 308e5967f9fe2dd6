// Proving a tenant's log: every entry is recomputed from the one before, in batches, and the last must be the head's.
import type { Call } from "../shared/bus.ts";
import { Unavailable } from "../shared/errors.ts";
import { ownTenant, reachOf } from "../shared/reach.ts";
import { type AuditRow, auditColumns, toAuditEntry } from "./audit-row.ts";
import { follows, genesis, type Link } from "./audit.rules.ts";

const batch = 1_000;
/** A longer log is proved in the background of a quieter hour by asking again; nobody may hold a worker for minutes. */
const msMax = 8_000;

interface Verdict {
  ok: boolean;
  checked: number;
  first_bad_seq: number | null;
}

export async function verifyAudit(call: Call<{ tenant_id?: number | null | undefined }>): Promise<Verdict> {
  const tenantId = call.params.tenant_id ?? ownTenant(call.caller) ?? 0;
  reachOf(call.caller);
  const scope = { tenantId };
  const deadline = performance.now() + msMax;
  const head = await call.db.readOne<{ seq: string; hash: string }>(scope, {
    text: "select seq, encode(hash, 'hex') as hash from audit_heads where tenant_id = $1",
    values: [tenantId],
  });
  const end: Link = head === undefined ? genesis : { seq: Number(head.seq), hash: head.hash };
  let last = genesis;
  while (last.seq < end.seq) {
    const rows = await call.db.read<AuditRow>(scope, {
      name: "audit.verify",
      text: `select ${auditColumns} from audit_entries where tenant_id = $1 and seq > $2 and seq <= $3
        order by seq limit ${batch}`,
      values: [tenantId, last.seq, end.seq],
    });
    for (const row of rows) {
      const entry = toAuditEntry(row);
      if (!follows(last, entry)) return { ok: false, checked: last.seq, first_bad_seq: last.seq + 1 };
      last = entry;
    }
    if (rows.length === 0) return { ok: false, checked: last.seq, first_bad_seq: last.seq + 1 };
    if (performance.now() > deadline)
      throw new Unavailable("busy", "The log is too long to be verified just now", 60);
  }
  const bad = last.hash === end.hash ? await strayEntry(call, scope) : last.seq;
  return { ok: bad === null, checked: last.seq, first_bad_seq: bad };
}

/** An entry before the first or behind the head. One statement, so that entries written meanwhile are not taken for one. */
async function strayEntry(call: Call<unknown>, scope: { tenantId: number }): Promise<number | null> {
  const stray = await call.db.readOne<{ seq: string | null }>(scope, {
    name: "audit.stray",
    text: `select min(seq) as seq from audit_entries where tenant_id = $1
      and (seq < 1 or seq > coalesce((select seq from audit_heads where tenant_id = $1), 0))`,
    values: [scope.tenantId],
  });
  return stray?.seq == null ? null : Number(stray.seq);
}

// Proving a tenant's log: every entry is recomputed from the one before, in batches, and the last must be the head's.
import { setImmediate as nextTurn } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Call } from "../shared/bus.ts";
import type { Database } from "../shared/database/database.ts";
import { Unavailable } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { tenantToActIn } from "../shared/reach.ts";
import { type AuditRow, auditColumns, toAuditEntry } from "./audit-row.ts";
import { follows, genesis, type Link } from "./audit.rules.ts";

const batch = 1_000;
/** Some milliseconds' work; then requests have their turn. */
const entriesPerTurn = 100;
/** A caller waits no longer; a longer log is proved by asking again. */
const msMax = 8_000;
const retrySeconds = 1;

export interface Verdict {
  ok: boolean;
  checked: number;
  first_bad_seq: number | null;
}

/** The last entry that was proved, of logs whose proof has not come to the end, by tenant. */
export type Unfinished = LRUCache<number, Link>;

/** Whoever does not ask again within the time begins anew: what was proved longer ago is no proof any more. */
export const makeUnfinished = (): Unfinished => new LRUCache({ max: 1_000, ttl: 600_000 });

const unfinishedOf = perRuntime(makeUnfinished);

export async function verifyAudit(call: Call<{ tenant_id?: number | null | undefined }>): Promise<Verdict> {
  const tenantId = tenantToActIn(call.caller, call.params.tenant_id) ?? 0;
  return verifyLog(call.db, tenantId, unfinishedOf(call.runtime), msMax);
}

/**
 * @param unfinished where the proof goes on, if it did not come to the end the last time
 * @throws Unavailable when it does not come to the end within `msLimit`; the next call goes on
 */
export async function verifyLog(
  db: Database,
  tenantId: number,
  unfinished: Unfinished,
  msLimit: number,
): Promise<Verdict> {
  const scope = { tenantId };
  const deadline = performance.now() + msLimit;
  const end = await headOf(db, scope);
  const known = unfinished.get(tenantId) ?? genesis;
  let last = known.seq <= end.seq ? known : genesis;
  unfinished.delete(tenantId);
  while (last.seq < end.seq) {
    const rows = await db.read<AuditRow>(scope, {
      name: "audit.verify",
      text: `select ${auditColumns} from audit_entries where tenant_id = $1 and seq > $2 and seq <= $3
        order by seq limit ${batch}`,
      values: [tenantId, last.seq, end.seq],
    });
    for (const row of rows) {
      const entry = toAuditEntry(row);
      if (!follows(last, entry)) return { ok: false, checked: last.seq, first_bad_seq: last.seq + 1 };
      last = { seq: entry.seq, hash: entry.hash };
      if (last.seq % entriesPerTurn === 0) await nextTurn();
    }
    if (rows.length === 0) return { ok: false, checked: last.seq, first_bad_seq: last.seq + 1 };
    if (last.seq < end.seq && performance.now() > deadline) {
      unfinished.set(tenantId, last);
      const sentence = `The log is long: ${last.seq} of ${end.seq} entries are proved, ask again to go on`;
      throw new Unavailable("verification_unfinished", sentence, retrySeconds);
    }
  }
  const bad = last.hash === end.hash ? await strayEntry(db, scope) : last.seq;
  return { ok: bad === null, checked: last.seq, first_bad_seq: bad };
}

async function headOf(db: Database, scope: { tenantId: number }): Promise<Link> {
  const head = await db.readOne<{ seq: string; hash: string }>(scope, {
    text: "select seq, encode(hash, 'hex') as hash from audit_heads where tenant_id = $1",
    values: [scope.tenantId],
  });
  return head === undefined ? genesis : { seq: Number(head.seq), hash: head.hash };
}

/** An entry before the first or behind the head. One statement, so that entries written meanwhile are not taken for one. */
async function strayEntry(db: Database, scope: { tenantId: number }): Promise<number | null> {
  const stray = await db.readOne<{ seq: string | null }>(scope, {
    name: "audit.stray",
    text: `select min(seq) as seq from audit_entries where tenant_id = $1
      and (seq < 1 or seq > coalesce((select seq from audit_heads where tenant_id = $1), 0))`,
    values: [scope.tenantId],
  });
  return stray?.seq == null ? null : Number(stray.seq);
}

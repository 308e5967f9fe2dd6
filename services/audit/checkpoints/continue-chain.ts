// Whether a log really continues what was signed of it: recomputes the entries between, as far as time allows. What it has
// reached can be signed, so the next time it goes on from there.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database } from "../../shared/database/database.ts";
import { genesis, type Link } from "../audit.rules.ts";
import { type Bad, ChainWalk } from "../chain-walk.ts";
import { readEntries } from "../read-entries.ts";

const batch = 1_000;
const entriesPerTurn = 100;

export interface Continued {
  /** How far it came: to the head, unless time was over. */
  reached: Link;
  bad: readonly Bad[];
  firstBad: number | null;
}

/**
 * @param signed what the checkpoint before says
 * @param head what the database says is the newest entry; undefined: it knows of none
 * @param deadline of performance.now(); one batch is done whatever it says
 */
export async function continueChain(
  db: Database,
  tenantId: number,
  { signed = genesis, head = genesis }: { signed?: Link | undefined; head?: Link | undefined },
  deadline: number,
): Promise<Continued> {
  const there = signed.seq === 0 ? signed.hash : await hashAt(db, tenantId, signed.seq);
  // Behind an entry that is not the signed one, the log may be whole all the same.
  const walk = new ChainWalk({ seq: signed.seq, hash: there ?? signed.hash });
  if (head.seq < signed.seq) walk.found(head.seq + 1, signed.seq, "checkpoint");
  else if (there !== signed.hash) walk.found(signed.seq, signed.seq, "checkpoint");
  while (walk.last.seq < head.seq) {
    const entries = await readEntries(db, tenantId, { after: walk.last.seq, upTo: head.seq, limit: batch });
    if (entries.length === 0) break;
    for (const [at, entry] of entries.entries()) {
      walk.take(entry);
      if (at % entriesPerTurn === 0) await nextTurn();
    }
    if (walk.last.seq < head.seq && performance.now() > deadline)
      return { reached: walk.last, bad: walk.bad, firstBad: walk.firstBad };
  }
  walk.missing(head.seq);
  walk.end(head);
  return { reached: head, bad: walk.bad, firstBad: walk.firstBad };
}

async function hashAt(db: Database, tenantId: number, seq: number): Promise<string | undefined> {
  const [entry] = await readEntries(db, tenantId, { after: seq - 1, upTo: seq, limit: 1 });
  return entry?.hash;
}

// Verifies that a log continues its last signed position: recomputes the entries since then, as far as time
// allows. The position reached can be signed, so that the next run continues there.
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database } from "../../shared/database/database.ts";
import { genesis, type Link } from "../audit.rules.ts";
import { type Bad, ChainVerifier } from "../chain-verifier.ts";
import { readEntries } from "../read-entries.ts";

const batch = 1_000;
const entriesPerTurn = 100;

/** The result of a verification. */
export interface Continued {
  /** The position reached: the head, unless time ran out. */
  reached: Link;
  bad: readonly Bad[];
  firstBad: number | null;
}

/**
 * Verifies the entries between `signed` and `head`.
 * @param signed the position in the previous checkpoint
 * @param head the newest entry according to the database; undefined when it has none
 * @param deadline in the time of performance.now(); at least one batch is done
 */
export async function continueChain(
  db: Database,
  tenantId: number,
  { signed = genesis, head = genesis }: { signed?: Link | undefined; head?: Link | undefined },
  deadline: number,
): Promise<Continued> {
  const storedHash = signed.seq === 0 ? signed.hash : await hashAt(db, tenantId, signed.seq);
  // After an entry that differs from the signed one, the rest of the log may still be intact.
  const verifier = new ChainVerifier({ seq: signed.seq, hash: storedHash ?? signed.hash });
  if (head.seq < signed.seq) verifier.report(head.seq + 1, signed.seq, "checkpoint");
  else if (storedHash !== signed.hash) verifier.report(signed.seq, signed.seq, "checkpoint");
  while (verifier.last.seq < head.seq) {
    const entries = await readEntries(db, tenantId, {
      after: verifier.last.seq,
      upTo: head.seq,
      limit: batch,
    });
    if (entries.length === 0) break;
    for (const [at, entry] of entries.entries()) {
      verifier.check(entry);
      if (at % entriesPerTurn === 0) await nextTurn();
    }
    if (verifier.last.seq < head.seq && performance.now() > deadline)
      return { reached: verifier.last, bad: verifier.bad, firstBad: verifier.firstBad };
  }
  verifier.reportMissing(head.seq);
  verifier.end(head);
  return { reached: head, bad: verifier.bad, firstBad: verifier.firstBad };
}

async function hashAt(db: Database, tenantId: number, seq: number): Promise<string | undefined> {
  const [entry] = await readEntries(db, tenantId, { after: seq - 1, upTo: seq, limit: 1 });
  return entry?.hash;
}

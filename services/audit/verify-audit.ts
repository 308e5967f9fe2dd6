// Proving a tenant's log: every entry is recomputed and held against the one before and against the signed checkpoints, in
// batches; the last must be the head's. It goes on behind whatever it finds.
import { setImmediate as nextTurn } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Call } from "../shared/bus/bus.ts";
import type { Database } from "../shared/database/database.ts";
import { Unavailable } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { tenantToActIn } from "../shared/administered-scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { type Bad, ChainWalk } from "./chain-walk.ts";
import { signedHashes } from "./checkpoints/kept-checkpoints.ts";
import { placeOf } from "./checkpoints/place.ts";
import { keepProof } from "./checkpoints/standings.ts";
import { readEnds, readEntries } from "./read-entries.ts";

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
  bad: Bad[];
  bad_total: number;
  checkpoints: number;
  checkpoint_seq: number | null;
}

/** Hashes that checkpoints say a tenant's entries have, by the entry's number, in rising order. */
export type SignedHashes = ReadonlyMap<number, string>;

/** Walks that have not come to the end, by tenant. */
export type Unfinished = LRUCache<number, ChainWalk>;

/** Whoever does not ask again within the time begins anew: what was proved longer ago is no proof any more. */
export const makeUnfinished = (): Unfinished => new LRUCache({ max: 1_000, ttl: 600_000 });

const unfinishedOf = perRuntime(makeUnfinished);

export async function verifyAudit(call: Call<{ tenant_id?: number | null | undefined }>): Promise<Verdict> {
  const tenantId = tenantToActIn(call.caller, call.params.tenant_id) ?? 0;
  const signed = await signedOf(call.runtime, tenantId);
  const verdict = await verifyLog(call.db, tenantId, unfinishedOf(call.runtime), msMax, signed);
  await keepProof(call.db, tenantId, verdict.first_bad_seq);
  return verdict;
}

/** None where this process has no folder of checkpoints, or cannot read it: then the log is proved by itself alone. */
async function signedOf(runtime: Runtime, tenantId: number): Promise<SignedHashes> {
  const { folder, ownKeys } = placeOf(runtime);
  if (folder === undefined) return new Map();
  try {
    return await signedHashes(folder, ownKeys, tenantId);
  } catch (error) {
    runtime.log.error({ err: error }, "the folder of checkpoints cannot be read");
    return new Map();
  }
}

/**
 * @param unfinished where the proof goes on, if it did not come to the end the last time
 * @param signed read before, so that no checkpoint is newer than the log's end that is read here
 * @throws Unavailable when it does not come to the end within `msLimit`; the next call goes on
 */
export async function verifyLog(
  db: Database,
  tenantId: number,
  unfinished: Unfinished,
  msLimit: number,
  signed: SignedHashes = new Map(),
): Promise<Verdict> {
  const deadline = performance.now() + msLimit;
  const { head, first, last } = await readEnds(db, tenantId);
  // Without a head, what is there is walked along all the same.
  const endSeq = head?.seq ?? last ?? 0;
  const known = unfinished.get(tenantId);
  const walk = known !== undefined && known.last.seq <= endSeq ? known : new ChainWalk();
  unfinished.delete(tenantId);
  while (walk.last.seq < endSeq) {
    const entries = await readEntries(db, tenantId, { after: walk.last.seq, upTo: endSeq, limit: batch });
    if (entries.length === 0) break;
    for (const [at, entry] of entries.entries()) {
      walk.take(entry, signed.get(entry.seq));
      if (at % entriesPerTurn === 0) await nextTurn();
    }
    if (walk.last.seq < endSeq && performance.now() > deadline) {
      unfinished.set(tenantId, walk);
      const sentence = `The log is long: ${walk.last.seq} of ${endSeq} entries are proved, ask again to go on`;
      throw new Unavailable("verification_unfinished", sentence, retrySeconds);
    }
  }
  walk.missing(endSeq);
  if (head !== undefined) walk.end(head);
  else if (last !== null) walk.found(last, last, "head");
  if (first !== null && first < 1) walk.found(first, Math.min(0, last ?? 0), "stray");
  if (last !== null && last > endSeq) walk.found(endSeq + 1, last, "stray");
  const beyond = [...signed.keys()].filter((seq) => seq > endSeq);
  if (beyond[0] !== undefined) walk.found(beyond[0], beyond.at(-1) ?? beyond[0], "checkpoint");
  return verdictOf(walk, signed);
}

function verdictOf(walk: ChainWalk, signed: SignedHashes): Verdict {
  return {
    ok: walk.badTotal === 0,
    checked: walk.checked,
    first_bad_seq: walk.firstBad,
    bad: [...walk.bad],
    bad_total: walk.badTotal,
    checkpoints: signed.size,
    checkpoint_seq: [...signed.keys()].at(-1) ?? null,
  };
}

// Verifies a tenant's log: recomputes every entry, compares it with the previous one and with the signed
// checkpoints, and the last one with the head. Works in batches and continues after a fault.
import { setImmediate as nextTurn } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import type { Call } from "../shared/bus/bus.ts";
import type { Database } from "../shared/database/database.ts";
import { Unavailable } from "../shared/errors.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { tenantToActIn } from "../shared/administered-scope.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { type Bad, ChainVerifier } from "./chain-verifier.ts";
import { signedHashes } from "./checkpoints/folder-state.ts";
import { checkpointSetupOf } from "./checkpoints/checkpoint-setup.ts";
import { saveProof } from "./checkpoints/log-states.ts";
import { readEnds, readEntries } from "./read-entries.ts";

const batch = 1_000;
/** Some milliseconds of work; then the event loop serves requests. */
const entriesPerTurn = 100;
/** Time limit of a call. A longer log is verified by repeated calls. */
const msMax = 8_000;
const retrySeconds = 1;

/** The result, in its JSON form. */
export interface Verdict {
  ok: boolean;
  checked: number;
  first_bad_seq: number | null;
  bad: Bad[];
  bad_total: number;
  checkpoints: number;
  checkpoint_seq: number | null;
}

/** Hashes of a tenant's entries according to checkpoints, by number, in ascending order. */
export type SignedHashes = ReadonlyMap<number, string>;

/** Verifications in progress, by tenant. */
export type Unfinished = LRUCache<number, ChainVerifier>;

/** After ten minutes without a call the verification starts again, because an older result proves nothing. */
export const makeUnfinished = (): Unfinished => new LRUCache({ max: 1_000, ttl: 600_000 });

const unfinishedOf = perRuntime(makeUnfinished);

/** Answers `audit.verify` and stores the result. @throws Unavailable `verification_unfinished` */
export async function verifyAudit(call: Call<{ tenant_id?: number | null | undefined }>): Promise<Verdict> {
  const tenantId = tenantToActIn(call.caller, call.params.tenant_id) ?? 0;
  const signed = await signedOf(call.runtime, tenantId);
  const verdict = await verifyLog(call.db, tenantId, unfinishedOf(call.runtime), msMax, signed);
  await saveProof(call.db, tenantId, verdict.first_bad_seq);
  return verdict;
}

/**
 * Empty when this process has no folder of checkpoints or cannot read it: then the log is verified without
 * them.
 */
async function signedOf(runtime: Runtime, tenantId: number): Promise<SignedHashes> {
  const { folder, ownKeys } = checkpointSetupOf(runtime);
  if (folder === undefined) return new Map();
  try {
    return await signedHashes(folder, ownKeys, tenantId);
  } catch (error) {
    runtime.log.error({ err: error }, "the folder of checkpoints cannot be read");
    return new Map();
  }
}

/**
 * Verifies a log, or continues an unfinished verification.
 * @param unfinished verifications in progress; read and updated
 * @param signed must be read before, so that no checkpoint is newer than the end of the log that is read here
 * @throws Unavailable `verification_unfinished` when it takes longer than `msLimit`; the next call continues
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
  // Without a head, the existing entries are verified nevertheless.
  const endSeq = head?.seq ?? last ?? 0;
  const known = unfinished.get(tenantId);
  const verifier = known !== undefined && known.last.seq <= endSeq ? known : new ChainVerifier();
  unfinished.delete(tenantId);
  while (verifier.last.seq < endSeq) {
    const entries = await readEntries(db, tenantId, { after: verifier.last.seq, upTo: endSeq, limit: batch });
    if (entries.length === 0) break;
    for (const [at, entry] of entries.entries()) {
      verifier.check(entry, signed.get(entry.seq));
      if (at % entriesPerTurn === 0) await nextTurn();
    }
    if (verifier.last.seq < endSeq && performance.now() > deadline) {
      unfinished.set(tenantId, verifier);
      const sentence = `The log is long: ${verifier.last.seq} of ${endSeq} entries are proved, ask again to go on`;
      throw new Unavailable("verification_unfinished", sentence, retrySeconds);
    }
  }
  verifier.reportMissing(endSeq);
  if (head !== undefined) verifier.end(head);
  else if (last !== null) verifier.report(last, last, "head");
  if (first !== null && first < 1) verifier.report(first, Math.min(0, last ?? 0), "stray");
  if (last !== null && last > endSeq) verifier.report(endSeq + 1, last, "stray");
  const beyond = [...signed.keys()].filter((seq) => seq > endSeq);
  if (beyond[0] !== undefined) verifier.report(beyond[0], beyond.at(-1) ?? beyond[0], "checkpoint");
  return verdictOf(verifier, signed);
}

function verdictOf(verifier: ChainVerifier, signed: SignedHashes): Verdict {
  return {
    ok: verifier.badTotal === 0,
    checked: verifier.checked,
    first_bad_seq: verifier.firstBad,
    bad: [...verifier.bad],
    bad_total: verifier.badTotal,
    checkpoints: signed.size,
    checkpoint_seq: [...signed.keys()].at(-1) ?? null,
  };
}

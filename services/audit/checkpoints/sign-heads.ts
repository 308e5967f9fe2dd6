// Signs where logs have got to: finds those that moved since their last checkpoint, recomputes what came since, and puts the
// heads into documents. Bounded by time; what was not reached is next time's.
import { databaseMs } from "../../shared/database/clock.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { genesis, type Link } from "../audit.rules.ts";
import { type Head, hashOf, headsMax, signDocument } from "./checkpoint.rules.ts";
import type { CheckpointRows } from "./checkpoint-rows.ts";
import { continueChain } from "./continue-chain.ts";
import type { KeptCheckpoints, LastDocument } from "./kept-checkpoints.ts";
import type { SigningKey } from "./signing-key.ts";
import { readStandings, type Standing } from "./standings.ts";

const standingsPerRead = 1_000;
/** An installation in which nothing happens signs that too: who waits for documents then knows that none is held back. */
const silentMsMax = 86_400_000;

export interface Signing {
  runtime: Runtime;
  rows: CheckpointRows;
  key: SigningKey;
  /** What the folder says, if there is one that can be read: whoever owns the database cannot have changed it. */
  kept: KeptCheckpoints | undefined;
  /** Of performance.now(). */
  deadline: number;
  /** Told the number of each document that was made. */
  made: (number: number) => void;
}

/** @returns whether all is signed that there is */
export async function signHeads(signing: Signing): Promise<boolean> {
  const { deadline } = signing;
  let last = await lastDocument(signing);
  const isSilent =
    last !== undefined && (await databaseMs(signing.runtime.database)) - Date.parse(last.at) > silentMsMax;
  let batch = new Batch();
  for await (const standing of moved(signing)) {
    await batch.add(signing, standing);
    const isLate = performance.now() > deadline;
    if (batch.heads.length < headsMax && !isLate) continue;
    last = await signBatch(signing, batch, last);
    // Another process is at it.
    if (last === undefined) return true;
    if (isLate) return false;
    batch = new Batch();
  }
  if (batch.heads.length > 0 || isSilent) await signBatch(signing, batch, last);
  return true;
}

/** Heads for one document. */
class Batch {
  readonly heads: Head[] = [];
  /** Number of the first bad entry, of tenants of which there is one. */
  readonly firstBad = new Map<number, number>();

  async add({ runtime, deadline }: Signing, standing: Standing): Promise<void> {
    const { tenantId } = standing;
    const { reached, bad, firstBad } = await continueChain(runtime.database, tenantId, standing, deadline);
    this.heads.push({ tenant_id: tenantId, ...reached, verified: firstBad === null });
    if (firstBad === null) return;
    this.firstBad.set(tenantId, firstBad);
    runtime.log.error({ tenantId, bad }, "an audit log does not continue what was signed of it");
  }
}

/** Documents go on from the last one that anybody knows of: a database that was rewound does not rewind them. */
async function lastDocument({ rows, kept, runtime }: Signing): Promise<LastDocument | undefined> {
  const row = await rows.last();
  const line = kept?.last;
  if (line === undefined || line.number <= (row?.number ?? 0)) return row ?? line;
  runtime.log.error(
    { database: row?.number ?? 0, folder: line.number },
    "the database has lost checkpoints that the folder has",
  );
  return line;
}

async function* moved({ runtime, kept }: Signing): AsyncGenerator<Standing> {
  const gone = new Map(kept?.heads);
  for (let after = -1, page: Standing[] = []; ; after = page.at(-1)?.tenantId ?? after) {
    page = await readStandings(runtime.database, after, standingsPerRead);
    for (const { tenantId, head, signed } of page) {
      gone.delete(tenantId);
      const known = kept?.heads.get(tenantId) ?? signed;
      if (!isSame(head, known)) yield { tenantId, head, signed: known };
    }
    if (page.length < standingsPerRead) break;
  }
  for (const [tenantId, signed] of gone)
    if (!isSame(signed, genesis)) yield { tenantId, head: undefined, signed };
}

function isSame(a: Link = genesis, b: Link = genesis): boolean {
  return a.seq === b.seq && a.hash === b.hash;
}

/** @returns undefined when another process was quicker */
async function signBatch(
  { rows, key, runtime, made }: Signing,
  { heads, firstBad }: Batch,
  last: LastDocument | undefined,
): Promise<LastDocument | undefined> {
  const number = (last?.number ?? 0) + 1;
  // One clock for all documents, so that the next of them is not dated before this one.
  const at = new Date(await databaseMs(runtime.database)).toISOString();
  const { publicUrl: installation } = runtime.config;
  const line = signDocument({ v: 1, number, at, installation, previous: last?.hash ?? null, heads }, key);
  if (!(await rows.keep({ number, line, heads, firstBad }))) return undefined;
  made(number);
  return { number, at, hash: hashOf(line) };
}

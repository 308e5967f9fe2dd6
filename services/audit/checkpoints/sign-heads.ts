// Signs the current positions of the logs: finds logs that changed since their last checkpoint, verifies the
// entries since then, and signs the heads in documents. Limited by time; the next run continues.
import { databaseMs } from "../../shared/database/clock.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { genesis, type Link } from "../audit.rules.ts";
import { type Head, hashOf, headsMax, signDocument } from "./checkpoint.rules.ts";
import type { CheckpointRows } from "./checkpoint-rows.ts";
import { continueChain } from "./continue-chain.ts";
import type { FolderState, LastDocument } from "./folder-state.ts";
import type { SigningKey } from "./signing-key.ts";
import { readLogStates, type LogState } from "./log-states.ts";

const logsPerRead = 1_000;
/**
 * After a day without changes an empty document is signed, so that a recipient knows that none is withheld.
 */
const silentMsMax = 86_400_000;

/** The parameters of a run. */
export interface Signing {
  runtime: Runtime;
  rows: CheckpointRows;
  key: SigningKey;
  /** The state of the folder, if it can be read. The owner of the database cannot have altered it. */
  folderState: FolderState | undefined;
  /** In the time of performance.now(). */
  deadline: number;
  /** Called with the number of each new document. */
  made: (number: number) => void;
}

/** @returns whether everything is signed */
export async function signHeads(signing: Signing): Promise<boolean> {
  const { deadline } = signing;
  let last = await lastDocument(signing);
  const isSilent =
    last !== undefined && (await databaseMs(signing.runtime.database)) - Date.parse(last.at) > silentMsMax;
  let batch = new Batch();
  for await (const standing of changedLogs(signing)) {
    await batch.add(signing, standing);
    const isLate = performance.now() > deadline;
    if (batch.heads.length < headsMax && !isLate) continue;
    last = await signBatch(signing, batch, last);
    // Another process is signing.
    if (last === undefined) return true;
    if (isLate) return false;
    batch = new Batch();
  }
  if (batch.heads.length > 0 || isSilent) await signBatch(signing, batch, last);
  return true;
}

/** The heads of one document. */
class Batch {
  readonly heads: Head[] = [];
  /** The number of the first faulty entry, for tenants that have one. */
  readonly firstBad = new Map<number, number>();

  async add({ runtime, deadline }: Signing, standing: LogState): Promise<void> {
    const { tenantId } = standing;
    const { reached, bad, firstBad } = await continueChain(runtime.database, tenantId, standing, deadline);
    this.heads.push({ tenant_id: tenantId, ...reached, verified: firstBad === null });
    if (firstBad === null) return;
    this.firstBad.set(tenantId, firstBad);
    runtime.log.error({ tenantId, bad }, "an audit log does not continue what was signed of it");
  }
}

/**
 * The last document in the database or the folder, so that a database restored to an earlier state does not
 * reset the numbers.
 */
async function lastDocument({ rows, folderState, runtime }: Signing): Promise<LastDocument | undefined> {
  const row = await rows.last();
  const line = folderState?.last;
  if (line === undefined || line.number <= (row?.number ?? 0)) return row ?? line;
  runtime.log.error(
    { database: row?.number ?? 0, folder: line.number },
    "the database has lost checkpoints that the folder has",
  );
  return line;
}

async function* changedLogs({ runtime, folderState }: Signing): AsyncGenerator<LogState> {
  const withoutLog = new Map(folderState?.heads);
  for (let after = -1, page: LogState[] = []; ; after = page.at(-1)?.tenantId ?? after) {
    page = await readLogStates(runtime.database, after, logsPerRead);
    for (const { tenantId, head, signed } of page) {
      withoutLog.delete(tenantId);
      const known = folderState?.heads.get(tenantId) ?? signed;
      if (!isSame(head, known)) yield { tenantId, head, signed: known };
    }
    if (page.length < logsPerRead) break;
  }
  for (const [tenantId, signed] of withoutLog)
    if (!isSame(signed, genesis)) yield { tenantId, head: undefined, signed };
}

function isSame(a: Link = genesis, b: Link = genesis): boolean {
  return a.seq === b.seq && a.hash === b.hash;
}

/** @returns undefined when another process was faster */
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
  if (!(await rows.store({ number, line, heads, firstBad }))) return undefined;
  made(number);
  return { number, at, hash: hashOf(line) };
}

// Proves whole logs in the background, each once a day, from the first entry on: what was altered long before the last checkpoint
// is found too. A long log is proved in several goes.
import { Unavailable } from "../../shared/errors.ts";
import { perRuntime } from "../../shared/per-runtime.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { makeUnfinished, verifyLog } from "../verify-audit.ts";
import type { KeptCheckpoints } from "./kept-checkpoints.ts";
import { keepProof, unproved } from "./standings.ts";

const tenantsPerRead = 100;

const unfinishedOf = perRuntime(makeUnfinished);

/** @returns whether all that were due are proved */
export async function proveLogs(
  runtime: Runtime,
  kept: KeptCheckpoints | undefined,
  msMax: number,
): Promise<boolean> {
  const deadline = performance.now() + msMax;
  for (;;) {
    const due = await unproved(runtime.database, tenantsPerRead);
    for (const tenantId of due) {
      const left = deadline - performance.now();
      if (left < 0 || !(await proveLog(runtime, tenantId, kept, left))) return false;
    }
    if (due.length < tenantsPerRead) return true;
  }
}

/** @returns false when time was over */
async function proveLog(
  runtime: Runtime,
  tenantId: number,
  kept: KeptCheckpoints | undefined,
  msMax: number,
): Promise<boolean> {
  const { database, log } = runtime;
  // The newest checkpoint is enough here: it holds all that is before it.
  const head = kept?.heads.get(tenantId);
  const signed = new Map(head?.verified === true ? [[head.seq, head.hash]] : []);
  try {
    const verdict = await verifyLog(database, tenantId, unfinishedOf(runtime), msMax, signed);
    if (!verdict.ok) log.error({ tenantId, bad: verdict.bad }, "an audit log is not whole");
    await keepProof(database, tenantId, verdict.first_bad_seq);
    return true;
  } catch (error) {
    if (error instanceof Unavailable && error.type === "verification_unfinished") return false;
    throw error;
  }
}

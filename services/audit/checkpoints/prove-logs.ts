// Verifies complete logs in the background, each once a day, from the first entry on, to find alterations
// from before the last checkpoint. A long log is verified in several runs.
import { Unavailable } from "../../shared/errors.ts";
import { perRuntime } from "../../shared/per-runtime.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { makeUnfinished, verifyLog } from "../verify-audit.ts";
import type { FolderState } from "./folder-state.ts";
import { saveProof, unverifiedTenants } from "./log-states.ts";

const tenantsPerRead = 100;

const unfinishedOf = perRuntime(makeUnfinished);

/** Verifies the logs that are due, longest first. @returns whether all of them are verified */
export async function proveLogs(
  runtime: Runtime,
  folderState: FolderState | undefined,
  msMax: number,
): Promise<boolean> {
  const deadline = performance.now() + msMax;
  for (;;) {
    const tenantIds = await unverifiedTenants(runtime.database, tenantsPerRead);
    for (const tenantId of tenantIds) {
      const left = deadline - performance.now();
      if (left < 0 || !(await proveLog(runtime, tenantId, folderState, left))) return false;
    }
    if (tenantIds.length < tenantsPerRead) return true;
  }
}

/** @returns false when time ran out */
async function proveLog(
  runtime: Runtime,
  tenantId: number,
  folderState: FolderState | undefined,
  msMax: number,
): Promise<boolean> {
  const { database, log } = runtime;
  // The newest checkpoint is sufficient here, because its hash covers all earlier entries.
  const head = folderState?.heads.get(tenantId);
  const signed = new Map(head?.verified === true ? [[head.seq, head.hash]] : []);
  try {
    const verdict = await verifyLog(database, tenantId, unfinishedOf(runtime), msMax, signed);
    if (!verdict.ok) log.error({ tenantId, bad: verdict.bad }, "an audit log is not whole");
    await saveProof(database, tenantId, verdict.first_bad_seq);
    return true;
  } catch (error) {
    if (error instanceof Unavailable && error.type === "verification_unfinished") return false;
    throw error;
  }
}

// Deletes checkpoints from the database when all sinks have received them. Those that a sink has not received
// are kept for at most a year; the files still contain them.
import { Caller } from "../../shared/caller.ts";
import { platform } from "../../shared/database/scope.ts";
import { inBatches } from "../../shared/in-batches.ts";
import type { Runtime } from "../../../host/process/runtime.ts";

const keptDays = 30;
const waitingDays = 365;
const batch = 500;
const batchesMax = 1_000;

/** The newest one is kept, because the next one contains its hash. */
const sweep = `delete from audit_checkpoints where number in (select number from audit_checkpoints c
    where number < (select max(number) from audit_checkpoints) and (created_at < now() - interval '${waitingDays} days'
      or created_at < now() - interval '${keptDays} days'
        and not exists (select from audit_sinks s where s.last_number < c.number))
    order by number limit ${batch}) returning number`;

/** The daily job `audit.sweep`. */
export async function sweepCheckpoints(this: { runtime: Runtime }): Promise<void> {
  const { database } = this.runtime;
  const statement = { name: "audit.sweep_checkpoints", text: sweep, values: [] };
  await inBatches(
    { rowsMax: batch, batchesMax },
    async () => (await database.write(platform, Caller.system("audit"), statement)).length,
  );
}

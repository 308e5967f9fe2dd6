// Purges deleted patients, with their records, after the retention. Batches bound the size of a transaction.
import { Caller } from "../shared/caller.ts";
import { platform } from "../shared/database/scope.ts";
import { inBatches } from "../shared/in-batches.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import type { RowOf } from "../shared/database/row.ts";

const batch = 500;
const batchesMax = 200;

/** The job `patients.purge`. At most `batch` × `batchesMax` patients per run. */
export async function purgeDeletedPatients(this: { runtime: Runtime }): Promise<void> {
  const { config, database } = this.runtime;
  await inBatches({ rowsMax: batch, batchesMax }, () =>
    database.change(platform, Caller.system("patients"), async (change) => {
      const rows = await change.execute<RowOf<"patients", "tenant_id" | "id">>(
        `delete from patients where (tenant_id, id) in (select tenant_id, id from patients
           where deleted_at < now() - make_interval(days => $1) order by deleted_at limit ${batch} for update skip locked)
         returning tenant_id, id`,
        [config.retentionDays],
      );
      for (const { tenant_id: tenantId, id } of rows) {
        change.audit({ tenantId, action: "patient.purge", target: { type: "patient", id } });
      }
      return rows.length;
    }),
  );
}

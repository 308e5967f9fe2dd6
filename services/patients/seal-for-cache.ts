// Loads patients for the warm-up of the cache: reads them in one statement, opens them and seals them for the
// cache.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import type { ParamsOf, ValueOf } from "../shared/params/types.ts";
import { patientColumns, type PatientRow, toPatient } from "./patient-row.ts";
import type { patientsContract } from "./patients.contract.ts";
import { openRow, wholeTexts } from "./read-patient.ts";
import { sealContent } from "./cached-reading.ts";
import type { RowOf } from "../shared/database/row.ts";

type Contract = (typeof patientsContract)["patients.seal_for_cache"];

/** Skips patients that do not exist, do not open completely or are too large. */
export async function sealForCache(call: Call<ParamsOf<Contract>>): Promise<ValueOf<Contract["result"]>> {
  const { tenant_id: tenantId, patient_ids: ids } = call.params;
  const rows = await call.db.read<PatientRow & RowOf<"patients", "stamp">>(
    tenantId === null ? platform : { tenantId },
    {
      text: `select ${patientColumns}, p.stamp from patients p join tenants t on t.id = p.tenant_id
      where t.deleted_at is null and p.id = any($1::integer[]) and p.deleted_at is null
        and ($2::integer is null or p.tenant_id = $2)`,
      values: [ids, tenantId],
    },
  );
  const values = [];
  for (const row of rows) {
    const { texts, unreadable } = await openRow(call, row);
    if (unreadable.length > 0) continue;
    const cacheKey = { tenantId: row.tenant_id, patientId: row.id, part: "patient" } as const;
    const content = toPatient(row, wholeTexts(texts, unreadable));
    const value = await sealContent(call, cacheKey, { stamp: row.stamp, content });
    if (value !== undefined) values.push({ tenant_id: row.tenant_id, patient_id: row.id, ...value });
  }
  return { values };
}

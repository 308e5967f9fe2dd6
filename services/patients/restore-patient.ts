// Restores a deleted patient before its purge, on request of an operator from the REPL. The answer contains
// only ids, because sealed data must not appear on a terminal.
import type { Call } from "../shared/bus/bus.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, Forbidden, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import { ownTenant } from "../shared/administered-scope.ts";
import { patientViolations } from "./create-patient.ts";
import type { RowOf } from "../shared/database/row.ts";

interface Restored {
  id: number;
  tenant_id: number;
  version: number;
}

/**
 * @throws Forbidden, NotFound, Conflict `not_deleted`, or `record_number_taken` when another patient has the
 * record number now
 */
export async function restorePatient(call: Call<{ patient_id: number }>): Promise<Restored> {
  if (ownTenant(call.caller) !== undefined) throw new Forbidden();
  const { patient_id: id } = call.params;
  const found = await call.db.readOne<RowOf<"patients", "tenant_id">>(platform, {
    text: "select tenant_id from patients where id = $1",
    values: [id],
  });
  if (found === undefined) throw new NotFound("Patient");
  const { tenant_id: tenantId } = found;
  const restore = call.db.change({ tenantId }, call.caller, async (change) => {
    const [row] = await change.execute<RowOf<"patients", "version">>(
      `update patients set deleted_at = null, updated_at = now(), version = version + 1
       where tenant_id = $1 and id = $2 and deleted_at is not null returning version`,
      [tenantId, id],
    );
    if (row === undefined) throw new Conflict("not_deleted", "This patient is not deleted");
    change.audit({ tenantId, action: "patient.restore", target: { type: "patient", id } });
    const payload = { patient_id: id, version: row.version, restored: true };
    change.publishEvent({ tenantId, kind: "patient.updated", payload });
    return { id, tenant_id: tenantId, version: row.version };
  });
  return mapViolations(patientViolations, restore);
}

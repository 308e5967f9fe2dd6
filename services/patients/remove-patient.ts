// Deleting patients.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { NotFound } from "../shared/errors.ts";
import { visibilityOf, visibleTo } from "./visibility.ts";

/** Marks a patient as deleted; the row is purged after the retention. @throws NotFound */
export async function removePatient(call: Call<{ patient_id: number }>): Promise<void> {
  const visibility = visibilityOf(call);
  const { tenantId } = visibility;
  const { patient_id: id } = call.params;
  await call.db.change({ tenantId }, call.caller, async (change) => {
    const { values, bind } = binder();
    const seen = visibleTo(visibility, bind);
    const [deleted] = await change.execute(
      `update patients p set deleted_at = now(), updated_at = now(), version = p.version + 1
       where ${seen} and p.id = ${bind(id)} returning p.id`,
      values,
    );
    if (deleted === undefined) throw new NotFound("Patient");
    change.audit({ tenantId, action: "patient.delete", target: { type: "patient", id } });
    change.publishEvent({ tenantId, kind: "patient.deleted", payload: { patient_id: id } });
  });
}

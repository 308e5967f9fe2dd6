// Changing a patient. Of two concurrent changes to one version one succeeds. Fields that are not sent stay
// unchanged.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { sealingKeys } from "../shared/sealing/ask-keys.ts";
import { sentTexts } from "./sent-texts.ts";
import { patientViolations } from "./create-patient.ts";
import { patientColumns, type PatientRow, type PatientTexts, sealPatient, toPatient } from "./patient-row.ts";
import type { Patient, patientsContract } from "./patients.contract.ts";
import { departmentFor } from "./patients.rules.ts";
import { findPatient, openRow, wholeTexts } from "./read-patient.ts";
import { visibleTo, visibilityOf } from "./visibility.ts";

type Update = Call<ParamsOf<(typeof patientsContract)["patients.update"]>>;

const stale = () => new Conflict("stale_version", "The patient was changed meanwhile: read it again");

/**
 * @throws NotFound, Conflict `stale_version` or `record_number_taken`, Forbidden, Invalid, Unavailable
 * `sealed_field_unreadable`
 */
export async function updatePatient(call: Update): Promise<Patient> {
  const { params } = call;
  const visibility = visibilityOf(call);
  const { tenantId } = visibility;
  const row = await findPatient(call, visibility);
  const departmentId =
    params.department_id === undefined ? row.department_id : departmentFor(visibility, params.department_id);
  if (row.version !== params.version) throw stale();
  const opened = await openRow(call, row);
  const sent = sentTexts(params);
  // A field that does not open is repaired by sending it again.
  const unreadable = opened.unreadable.filter((field) => sent[field] === undefined);
  const texts = wholeTexts({ ...opened.texts, ...sent }, unreadable);
  const changed: Partial<PatientTexts> = Object.fromEntries(
    Object.entries(sent).filter(([field, text]) => !isSame(opened, field, text)),
  );
  const plain = { department_id: departmentId, record_number: params.record_number ?? row.record_number };
  const moved = Object.entries(plain).filter(([field, value]) => Reflect.get(row, field) !== value);
  if (Object.keys(changed).length + moved.length === 0) {
    // Nothing changes, but the answer contains the patient, so a read is recorded.
    await call.db.recordRead(call.caller, {
      tenantId,
      action: "patient.read",
      target: { type: "patient", id: row.id },
    });
    return toPatient(row, texts);
  }
  const sealed = sealPatient(await sealingKeys(call, tenantId), row.id, texts, changed);
  const fields = [...moved.map(([field]) => field), ...Object.keys(changed)];
  const write = writeUpdate(call, fields, { ...Object.fromEntries(moved), ...sealed });
  return toPatient(await mapViolations(patientViolations, write), texts);
}

function isSame(
  { texts, unreadable }: Awaited<ReturnType<typeof openRow>>,
  field: string,
  text: string | null,
): boolean {
  return Reflect.get(texts, field) === text && !unreadable.some((each) => each === field);
}

/**
 * @param fields names of the changed fields, for the audit log and the event
 * @param columns the columns to set
 */
function writeUpdate(
  call: Update,
  fields: readonly string[],
  columns: Record<string, unknown>,
): Promise<PatientRow> {
  const visibility = visibilityOf(call);
  const { tenantId } = visibility;
  const { patient_id: id, version } = call.params;
  return call.db.change({ tenantId }, call.caller, async (change) => {
    const { values, bind } = binder();
    const sets = Object.entries(columns).map(([column, value]) => `${column} = ${bind(value)}`);
    const [row] = await change.execute<PatientRow>(
      `update patients p set ${sets.join(", ")}, version = p.version + 1, updated_at = now()
       where ${visibleTo(visibility, bind)} and p.id = ${bind(id)} and p.version = ${bind(version)} returning ${patientColumns}`,
      values,
    );
    if (row === undefined) {
      // The row existed a moment ago, so another request has changed or deleted it meanwhile.
      const again = binder();
      const present = await change.execute(
        `select from patients p where ${visibleTo(visibility, again.bind)} and p.id = ${again.bind(id)}`,
        again.values,
      );
      throw present.length === 0 ? new NotFound("Patient") : stale();
    }
    const target = { type: "patient", id };
    change.audit({ tenantId, action: "patient.update", target, changes: { fields, version: row.version } });
    const payload = { patient_id: id, fields: [...fields], version: row.version };
    change.publishEvent({ tenantId, kind: "patient.updated", payload });
    return row;
  });
}

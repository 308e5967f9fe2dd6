// Changing a patient: of two changes to one version one wins, and what is not sent stays as it is.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { Conflict, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { sealingKeys } from "../shared/sealing/ask-keys.ts";
import { givenTexts } from "./given-texts.ts";
import { patientViolations } from "./keep-patients.ts";
import { patientColumns, type PatientRow, type PatientTexts, sealPatient, toPatient } from "./patient-row.ts";
import type { Patient, patientsContract } from "./patients.contract.ts";
import { departmentFor } from "./patients.rules.ts";
import { findPatient, openRow, wholeTexts } from "./read-patient.ts";
import { visibleTo, visibilityOf } from "./visibility.ts";

type Update = Call<ParamsOf<(typeof patientsContract)["patients.update"]>>;

const stale = () => new Conflict("stale_version", "The patient was changed meanwhile: read it again");

export async function updatePatient(call: Update): Promise<Patient> {
  const { params } = call;
  const sight = visibilityOf(call);
  const { tenantId } = sight;
  const row = await findPatient(call, sight);
  const departmentId =
    params.department_id === undefined ? row.department_id : departmentFor(sight, params.department_id);
  if (row.version !== params.version) throw stale();
  const opened = await openRow(call, row);
  const sent = givenTexts(params);
  // A field that does not open is repaired by sending it anew.
  const unreadable = opened.unreadable.filter((field) => sent[field] === undefined);
  const texts = wholeTexts({ ...opened.texts, ...sent }, unreadable);
  const changed: Partial<PatientTexts> = Object.fromEntries(
    Object.entries(sent).filter(([field, text]) => !isSame(opened, field, text)),
  );
  const plain = { department_id: departmentId, record_number: params.record_number ?? row.record_number };
  const moved = Object.entries(plain).filter(([field, value]) => Reflect.get(row, field) !== value);
  if (Object.keys(changed).length + moved.length === 0) {
    // Nothing has changed, but the answer tells the patient.
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

/** @param fields their names, for the log and the event; `columns` to be set */
function writeUpdate(
  call: Update,
  fields: readonly string[],
  columns: Record<string, unknown>,
): Promise<PatientRow> {
  const sight = visibilityOf(call);
  const { tenantId } = sight;
  const { patient_id: id, version } = call.params;
  return call.db.change({ tenantId }, call.caller, async (change) => {
    const { values, bind } = binder();
    const sets = Object.entries(columns).map(([column, value]) => `${column} = ${bind(value)}`);
    const [row] = await change.execute<PatientRow>(
      `update patients p set ${sets.join(", ")}, version = p.version + 1, updated_at = now()
       where ${visibleTo(sight, bind)} and p.id = ${bind(id)} and p.version = ${bind(version)} returning ${patientColumns}`,
      values,
    );
    if (row === undefined) {
      // It was there a moment ago: somebody else was first, and has changed it or taken it away.
      const again = binder();
      const present = await change.execute(
        `select from patients p where ${visibleTo(sight, again.bind)} and p.id = ${again.bind(id)}`,
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

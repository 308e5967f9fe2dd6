// Reading one patient. What cannot be recorded is not told.
import type { Call } from "../shared/bus.ts";
import { NotFound, Unavailable } from "../shared/errors.ts";
import { openingKeys } from "../shared/sealing/ask-keys.ts";
import {
  openPatient,
  patientColumns,
  type PatientRow,
  type PatientTexts,
  sealedIn,
  toPatient,
} from "./patient-row.ts";
import type { Patient } from "./patients.contract.ts";
import { binder, seenBy, sightOf, type Sight } from "./sight.ts";

type OfPatient = Call<{ patient_id: number }>;

export async function readPatient(call: OfPatient): Promise<Patient> {
  const sight = sightOf(call);
  const row = await findPatient(call, sight);
  const { texts, unreadable } = await openRow(call, row);
  const { tenantId } = sight;
  const target = { type: "patient", id: row.id };
  if (unreadable.length > 0) {
    const changes = { code: "sealed_field_unreadable", fields: unreadable };
    await call.db.note(call.caller, { tenantId, action: "patient.read", target, outcome: "error", changes });
  }
  const patient = toPatient(row, wholeTexts(texts, unreadable));
  await call.db.note(call.caller, { tenantId, action: "patient.read", target });
  return patient;
}

/** @throws NotFound alike for unseen, deleted and unknown patients */
export async function findPatient(call: OfPatient, sight: Sight): Promise<PatientRow> {
  const { values, bind } = binder();
  const text = `select ${patientColumns} from patients p where ${seenBy(sight, bind)}
    and p.id = ${bind(call.params.patient_id)}`;
  const name = sight.canSeeAllPatients ? "patients.get" : "patients.get_in_department";
  const row = await call.db.readOne<PatientRow>({ tenantId: sight.tenantId }, { name, text, values });
  if (row === undefined) throw new NotFound("Patient");
  return row;
}

/** Opens what opens; the rest is named, and in the log. */
export async function openRow(call: Call<unknown>, row: PatientRow): Promise<ReturnType<typeof openPatient>> {
  const keys = await openingKeys(call, row.tenant_id, sealedIn([row]));
  const opened = openPatient(keys, row);
  if (opened.unreadable.length > 0) {
    const facts = { tenantId: row.tenant_id, patientId: row.id, fields: opened.unreadable };
    call.runtime.log.error(facts, "sealed fields do not open");
  }
  return opened;
}

/** @throws Unavailable when a field did not open: half a patient is not told as if it were a whole one */
export function wholeTexts(
  { full_name, ...rest }: Record<keyof PatientTexts, string | null>,
  unreadable: readonly string[],
): PatientTexts {
  if (unreadable.length > 0 || full_name === null) {
    throw new Unavailable("sealed_field_unreadable", "A sealed field of this patient cannot be opened");
  }
  return { full_name, ...rest };
}

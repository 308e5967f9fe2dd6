// Creating patients.
import type { Call } from "../shared/bus/bus.ts";
import { Conflict, Invalid } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { sealingKeys } from "../shared/sealing/ask-keys.ts";
import { patientColumns, type PatientRow, type PatientTexts, sealPatient, toPatient } from "./patient-row.ts";
import type { Patient, patientsContract } from "./patients.contract.ts";
import { departmentFor } from "./patients.rules.ts";
import { sentTexts } from "./sent-texts.ts";
import { visibilityOf } from "./visibility.ts";

const noDepartment = () => Invalid.body("department_id", "the department does not exist");
/** The client's error for each constraint of the database that a patient can violate. */
export const patientViolations = {
  patients_record_number: () =>
    new Conflict("record_number_taken", "This record number is already in use in this department"),
  patients_tenant_id_department_id_fkey: noDepartment,
};

type Create = Call<ParamsOf<(typeof patientsContract)["patients.create"]>>;

/**
 * Creates a patient in a department that the caller may use.
 * @throws Forbidden, Invalid, Conflict `record_number_taken`
 */
export async function createPatient(call: Create): Promise<Patient> {
  const { params } = call;
  const visibility = visibilityOf(call);
  const { tenantId } = visibility;
  const departmentId = departmentFor(visibility, params.department_id);
  // The ciphertexts are bound to the id, so the id is drawn before the row is written.
  const drawn = await call.db.writeOne<{ id: number; fits: boolean }>({ tenantId }, call.caller, {
    name: "patients.draw",
    text: `select nextval('patients_id_seq')::integer as id, $2::integer is null
        or exists (select from departments where tenant_id = $1 and id = $2) as fits`,
    values: [tenantId, departmentId],
  });
  if (drawn?.fits !== true) throw noDepartment();
  const texts: PatientTexts = {
    full_name: params.full_name,
    birth_date: null,
    phone: null,
    notes: null,
    ...sentTexts(params),
  };
  const sealed = sealPatient(await sealingKeys(call, tenantId), drawn.id, texts);
  const fields = {
    id: drawn.id,
    tenant_id: tenantId,
    department_id: departmentId,
    record_number: params.record_number,
  };
  const insert = call.db.change({ tenantId }, call.caller, async (change) => {
    const values = Object.entries({ ...fields, ...sealed });
    const made = await change.one<PatientRow>(
      `insert into patients as p (${values.map(([column]) => column).join(", ")})
       values (${values.map((_, at) => `$${at + 1}`).join(", ")}) returning ${patientColumns}`,
      values.map(([, value]) => value),
    );
    const target = { type: "patient", id: made.id };
    const filled = Object.entries(texts).flatMap(([field, text]) => (text === null ? [] : [field]));
    const changes = { department_id: departmentId, fields: ["record_number", ...filled] };
    change.audit({ tenantId, action: "patient.create", target, changes });
    const payload = { patient_id: made.id, department_id: departmentId };
    change.publishEvent({ tenantId, kind: "patient.created", payload });
    return made;
  });
  return toPatient(await mapViolations(patientViolations, insert), texts);
}

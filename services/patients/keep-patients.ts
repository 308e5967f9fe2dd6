// Creating and deleting patients.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { Conflict, Invalid, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { sealingKeys } from "../shared/sealing/ask-keys.ts";
import { patientColumns, type PatientRow, type PatientTexts, sealPatient, toPatient } from "./patient-row.ts";
import type { Patient, patientsContract } from "./patients.contract.ts";
import { departmentFor } from "./patients.rules.ts";
import { givenTexts } from "./given-texts.ts";
import { visibleTo, visibilityOf } from "./visibility.ts";

const noDepartment = () => Invalid.body("department_id", "the department does not exist");
/** What the database itself refuses about a patient, in the client's words. */
export const patientViolations = {
  patients_record_number: () =>
    new Conflict("record_number_taken", "This record number is already in use in this department"),
  patients_tenant_id_department_id_fkey: noDepartment,
};

type Create = Call<ParamsOf<(typeof patientsContract)["patients.create"]>>;

export async function createPatient(call: Create): Promise<Patient> {
  const { params } = call;
  const sight = visibilityOf(call);
  const { tenantId } = sight;
  const departmentId = departmentFor(sight, params.department_id);
  // The id is part of what is sealed, so it is drawn before the row is written.
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
    ...givenTexts(params),
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

export async function removePatient(call: Call<{ patient_id: number }>): Promise<void> {
  const sight = visibilityOf(call);
  const { tenantId } = sight;
  const { patient_id: id } = call.params;
  await call.db.change({ tenantId }, call.caller, async (change) => {
    const { values, bind } = binder();
    const seen = visibleTo(sight, bind);
    const [gone] = await change.execute(
      `update patients p set deleted_at = now(), updated_at = now(), version = p.version + 1
       where ${seen} and p.id = ${bind(id)} returning p.id`,
      values,
    );
    if (gone === undefined) throw new NotFound("Patient");
    change.audit({ tenantId, action: "patient.delete", target: { type: "patient", id } });
    change.publishEvent({ tenantId, kind: "patient.deleted", payload: { patient_id: id } });
  });
}

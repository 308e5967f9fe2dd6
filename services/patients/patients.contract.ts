// Actions for patients and their records. Every signed-in user may call them; the action decides which
// patients the user may see.
import { allow, onlyServices, signedIn } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { deletedList } from "../shared/deleted.ts";
import { weights } from "../shared/limits/weights.ts";
import { custom, nullable, optional } from "../shared/params/modifiers.ts";
import { date, object, timestamp } from "../shared/params/results.ts";
import { dateOrTime, id, idMax, integer, listOf, oneOf, pathId, text } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { sealedTables } from "../shared/sealing/registry.ts";
import { pageOf, paging, searching, sorting } from "../shared/wire.ts";
import { birthDateFault, phoneFault } from "./patients.rules.ts";

export const patientSorts = ["id", "record_number", "created_at"] as const;
const recordSorts = ["id", "created_at"] as const;
/** A page of 200 records with the longest bodies still fits on the bus. */
const longTextMax = 10_000;

const head = {
  id: integer(),
  tenant_id: integer(),
  department_id: nullable(integer()),
  record_number: text(),
};
const details = { birth_date: nullable(date()), phone: nullable(text()), notes: nullable(text()) };
const tail = { version: integer(), created_at: timestamp(), updated_at: timestamp() };

const patientShape = object({ ...head, full_name: text(), ...details, ...tail }, { name: "Patient" });
export type Patient = ValueOf<typeof patientShape>;

const unreadable = <const Field extends string>(fields: readonly [Field, ...Field[]]) =>
  optional(
    listOf(oneOf(fields), {
      description: "Fields that cannot be opened and are null here; usually absent.",
    }),
  );

const listedPatientShape = object(
  {
    ...head,
    full_name: nullable(text()),
    ...details,
    ...tail,
    unreadable: unreadable(["full_name", "birth_date", "phone", "notes"]),
  },
  { name: "ListedPatient" },
);
export type ListedPatient = ValueOf<typeof listedPatientShape>;

const recordHead = {
  id: integer(),
  patient_id: integer(),
  author_id: nullable(integer()),
  kind: text(),
};

const recordShape = object(
  { ...recordHead, body: text(), created_at: timestamp() },
  { name: "PatientRecord" },
);
export type PatientRecord = ValueOf<typeof recordShape>;

const listedRecordShape = object(
  {
    ...recordHead,
    body: nullable(text()),
    created_at: timestamp(),
    unreadable: unreadable(sealedTables.patient_records.columns),
  },
  { name: "ListedPatientRecord" },
);
export type ListedRecord = ValueOf<typeof listedRecordShape>;

const recordNumber = text({ min: 1, max: 64, trim: true });
const fullName = text({ min: 1, max: 200, trim: true });
const birthDate = custom(
  dateOrTime({ dateOnly: true, description: "A date, not in the future." }),
  (moment) => birthDateFault(moment, new Date().toISOString()),
);
const phone = text({
  max: 40,
  trim: true,
  description: "3 to 20 digits; spaces, dots, slashes, dashes and brackets between them.",
  example: "+49 30 901820",
  schema: { pattern: "^\\+?(?:[ ()./-]*\\d){3,20}[ ()./-]*$" },
});
const ofBoth = {
  department_id: optional(nullable(id())),
  birth_date: optional(nullable(birthDate)),
  phone: optional(nullable(custom(phone, phoneFault))),
  notes: optional(nullable(text({ max: longTextMax }))),
};
const unreadableKeys = ["keys_unreadable"] as const;
const onePatient = { patient_id: pathId({ description: "The patient's id.", example: 1 }) };

export const patientsContract = {
  "patients.list": {
    summary:
      "Lists the patients the caller sees; `search` finds the beginning of a record number, a whole name or a whole phone number.",
    audits: "patient.list",
    access: signedIn,
    repeatable: true,
    refuses: { 503: unreadableKeys },
    weight: weights.list,
    query: { ...paging, ...searching, ...sorting(patientSorts, "id", "asc") },
    result: pageOf("PatientPage", listedPatientShape),
  },
  "patients.create": {
    summary: "Creates a patient, in the caller's department unless another is named.",
    audits: "patient.create",
    access: signedIn,
    refuses: {
      403: ["no_department", "foreign_department"],
      409: ["record_number_taken"],
      503: unreadableKeys,
    },
    example: {
      record_number: "A-1024",
      full_name: "Grace Hopper",
      birth_date: "1906-12-09",
      phone: "+49 30 901820",
    },
    body: { record_number: recordNumber, full_name: fullName, ...ofBoth },
    result: patientShape,
  },
  "patients.get": {
    summary: "One patient.",
    audits: "patient.read",
    access: signedIn,
    repeatable: true,
    refuses: { 503: ["sealed_field_unreadable", ...unreadableKeys] },
    path: onePatient,
    result: patientShape,
  },
  "patients.update": {
    summary: "Changes a patient, if `version` is still the present one.",
    audits: "patient.update",
    access: signedIn,
    refuses: {
      403: ["no_department", "foreign_department"],
      409: ["record_number_taken", "stale_version"],
      503: ["sealed_field_unreadable", ...unreadableKeys],
    },
    path: onePatient,
    example: { version: 1, notes: "Allergic to penicillin." },
    body: {
      version: integer({ min: 1, max: idMax }),
      record_number: optional(recordNumber),
      full_name: optional(fullName),
      ...ofBoth,
    },
    result: patientShape,
  },
  "patients.remove": {
    summary: "Deletes a patient: hidden at once, purged with all records after the retention.",
    audits: "patient.delete",
    access: signedIn,
    path: onePatient,
  },
  "patients.list_deleted": {
    summary:
      "Patients who were deleted and are not purged yet, without their names (operators, from the REPL).",
    audits: "patient.list_deleted",
    ...deletedList({ tenant_id: integer(), department_id: nullable(integer()), record_number: text() }),
  },
  "patients.restore": {
    summary: "Brings a deleted patient back (operators, from the REPL).",
    audits: "patient.restore",
    access: allow("superadmin"),
    refuses: { 409: ["record_number_taken", "not_deleted"] },
    path: onePatient,
    result: object({ id: integer(), tenant_id: integer(), version: integer() }),
  },
  "patients.list_records": {
    summary: "What was written about a patient.",
    audits: "record.list",
    access: signedIn,
    repeatable: true,
    refuses: { 503: unreadableKeys },
    path: onePatient,
    query: { ...paging, ...sorting(recordSorts, "id", "asc") },
    result: pageOf("PatientRecordPage", listedRecordShape),
  },
  "patients.create_record": {
    summary: "Writes something about a patient; it stays as it is.",
    audits: "record.create",
    access: signedIn,
    refuses: { 503: unreadableKeys },
    path: onePatient,
    example: { kind: "visit", body: "First visit." },
    body: { kind: text({ min: 1, max: 50, trim: true }), body: text({ min: 1, max: longTextMax }) },
    result: recordShape,
  },
  "patients.seal_for_cache": {
    summary: "Patients as the cache keeps them, sealed; of all tenants when none is given.",
    audits: "cache.warmup",
    access: onlyServices("cache"),
    repeatable: true,
    body: { tenant_id: nullable(id()), patient_ids: listOf(id(), { max: 200 }) },
    result: object({
      values: listOf(object({ tenant_id: integer(), patient_id: integer(), stamp: text(), sealed: text() })),
    }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof patientsContract> {}
}

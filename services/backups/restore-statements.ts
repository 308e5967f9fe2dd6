// The changes of a restore, table by table, in the order of their dependencies. $1 is the job under which the
// archive's rows are staged, $2 the tenant. `c` is the current row, `s` the archived one.
// Users and patients are never removed: those added since are marked as deleted, as by their own service, and
// can be restored.
import {
  addedSince,
  departmentDiffers,
  emailIsFree,
  headOf,
  inArchive,
  isThere,
  patientDiffers,
  preferenceDiffers,
  recordDiffers,
  recordsSince,
  settingsBack,
  staged,
  tenantDiffers,
  userDiffers,
} from "./restore-conditions.ts";

/** One statement of a restore. */
export interface RestoreStatement {
  table: string;
  /** How the plan counts it. */
  as?: "add" | "change" | "remove";
  text: string;
}

const patientColumns = [
  "department_id",
  "record_number",
  "identity",
  "notes",
  "full_name_index",
  "phone_index",
  "created_at",
  "updated_at",
];
const setFromArchive = (columns: readonly string[]) =>
  columns.map((column) => `${column} = s.${column}`).join(", ");

/** $3 is a hash that matches no password. */
export const restoreStatements: readonly RestoreStatement[] = [
  {
    table: "tenants",
    as: "change",
    text: `update tenants c set name = s.name, settings = ${settingsBack}, updated_at = now()
      from ${staged("tenants")} where c.id = $2 and s.id = c.id and ${tenantDiffers}`,
  },
  {
    table: "departments",
    as: "add",
    text: `insert into departments (id, tenant_id, name, created_at, updated_at) overriding system value
      select s.id, $2, s.name, s.created_at, s.updated_at from ${staged("departments")} where not ${isThere("departments")}`,
  },
  {
    table: "departments",
    as: "change",
    text: `update departments c set name = s.name, created_at = s.created_at, updated_at = now()
      from ${staged("departments")} where c.tenant_id = $2 and s.id = c.id and ${departmentDiffers}`,
  },
  {
    table: "users",
    as: "remove",
    text: `update users c set deleted_at = now(), session_epoch = session_epoch + 1, updated_at = now()
      where id in (select c.id from ${addedSince("users")}) and tenant_id = $2`,
  },
  {
    table: "users",
    as: "add",
    // A deleted user may have been deleted on purpose, so a restored one is blocked until an administrator
    // unblocks them.
    text: `update users c set deleted_at = null, is_active = false, updated_at = now(), ${setFromArchive(["email", "full_name", "department_id", "created_at"])}
      from ${staged("users")} where c.tenant_id = $2 and s.id = c.id and c.deleted_at is not null and s.deleted_at is null
        and ${emailIsFree}`,
  },
  {
    table: "users",
    as: "add",
    text: `insert into users (id, tenant_id, department_id, email, full_name, role, can_see_all_patients, is_active,
        approved_at, email_verified, password_hash, session_epoch, created_at, updated_at) overriding system value
      select s.id, $2, s.department_id, s.email, s.full_name, s.role, false, false,
        coalesce(s.approved_at, now()), s.email_verified, $3, s.session_epoch + 1, s.created_at, now()
      from ${staged("users")} where s.deleted_at is null and not ${isThere("users")} and ${emailIsFree}`,
  },
  {
    table: "users",
    as: "change",
    text: `update users c set updated_at = now(), ${setFromArchive(["email", "full_name", "department_id", "created_at"])}
      from ${staged("users")} where c.tenant_id = $2 and s.id = c.id and c.deleted_at is null and s.deleted_at is null
        and ${userDiffers} and ${emailIsFree}`,
  },
  {
    table: "departments",
    text: `update departments c set head_doctor_id = ${headOf("false")}, updated_at = now()
      from ${staged("departments")} where c.tenant_id = $2 and s.id = c.id
        and c.head_doctor_id is distinct from ${headOf("false")}`,
  },
  {
    table: "preferences",
    as: "remove",
    text: `delete from preferences c where c.tenant_id = $2 and not ${inArchive("preferences", "user_id")}`,
  },
  {
    table: "preferences",
    as: "change",
    text: `update preferences c set ${setFromArchive(["theme", "settings", "updated_at"])}
      from ${staged("preferences")} where c.tenant_id = $2 and s.user_id = c.user_id and ${preferenceDiffers}`,
  },
  {
    table: "preferences",
    as: "add",
    text: `insert into preferences (tenant_id, user_id, theme, settings, updated_at)
      select $2, s.user_id, s.theme, s.settings, s.updated_at from ${staged("preferences")}
      where not ${isThere("preferences", "user_id")}
        and exists (select from users u where u.tenant_id = $2 and u.id = s.user_id)`,
  },
  {
    table: "patients",
    as: "remove",
    text: `update patients c set deleted_at = now(), version = version + 1, updated_at = now()
      where tenant_id = $2 and id in (select c.id from ${addedSince("patients")})`,
  },
  {
    // Two patients may have exchanged their record numbers, so the numbers that change are freed first.
    table: "patients",
    text: `update patients c set record_number = '~restored~' || c.id from ${staged("patients")}
      where c.tenant_id = $2 and s.id = c.id and c.deleted_at is null and s.deleted_at is null
        and (c.record_number, c.department_id) is distinct from (s.record_number, s.department_id)`,
  },
  {
    table: "patients",
    as: "change",
    text: `update patients c set ${setFromArchive(patientColumns)}, version = greatest(c.version, s.version) + 1
      from ${staged("patients")} where c.tenant_id = $2 and s.id = c.id and c.deleted_at is null and s.deleted_at is null
        and ${patientDiffers}`,
  },
  {
    table: "patients",
    as: "add",
    text: `update patients c set deleted_at = null, ${setFromArchive(patientColumns)}, version = greatest(c.version, s.version) + 1
      from ${staged("patients")} where c.tenant_id = $2 and s.id = c.id and c.deleted_at is not null and s.deleted_at is null`,
  },
  {
    table: "patients",
    as: "add",
    text: `insert into patients (id, tenant_id, version, ${patientColumns.join(", ")})
      select s.id, $2, s.version + 1, ${patientColumns.map((column) => `s.${column}`).join(", ")}
      from ${staged("patients")} where s.deleted_at is null and not ${isThere("patients")}`,
  },
  {
    // A patient's stamp must change with its records; the trigger for that is disabled during a restore. Rows
    // that this transaction has written already have a new stamp.
    table: "patients",
    text: `update patients p set stamp = gen_random_uuid() where p.tenant_id = $2
      and p.xmin <> pg_current_xact_id()::xid and p.id in (
      select c.patient_id from ${recordsSince}
      union select s.patient_id from ${staged("patient_records")} where not ${isThere("patient_records")}
      union select c.patient_id from patient_records c join ${staged("patient_records")} on s.id = c.id
        where c.tenant_id = $2 and ${recordDiffers})`,
  },
  { table: "patient_records", as: "remove", text: `delete from ${recordsSince}` },
  {
    table: "patient_records",
    as: "change",
    text: `update patient_records c set patient_id = s.patient_id, kind = s.kind, created_at = s.created_at, body = s.body,
        author_id = (select u.id from users u where u.tenant_id = $2 and u.id = s.author_id)
      from ${staged("patient_records")} where c.tenant_id = $2 and s.id = c.id and ${recordDiffers}`,
  },
  {
    table: "patient_records",
    as: "add",
    text: `insert into patient_records (id, tenant_id, patient_id, author_id, kind, body, created_at)
      select s.id, $2, s.patient_id, (select u.id from users u where u.tenant_id = $2 and u.id = s.author_id), s.kind,
        s.body, s.created_at
      from ${staged("patient_records")} where not ${isThere("patient_records")}
        and exists (select from patients p where p.tenant_id = $2 and p.id = s.patient_id)`,
  },
  {
    // Users who still belong to the department (administrators added since) then have no department.
    table: "departments",
    as: "remove",
    text: `delete from departments c where c.tenant_id = $2 and not ${inArchive("departments")}`,
  },
];

export const numberedTables = ["users", "departments", "patients", "patient_records"] as const;
/**
 * New rows must not get the ids of restored rows: after a disaster the sequences may be behind the archive.
 */
export const sequenceText = numberedTables
  .map(
    (table, nth) => `select setval('${table}_id_seq', $${nth + 1}::bigint)
      where $${nth + 1}::bigint > (select last_value from ${table}_id_seq)`,
  )
  .join("\nunion all\n");

// What a restore compares: the archive's rows, laid out under the job $1 (`s`), with those of the tenant $2 as they are now
// (`c`). The plan counts by it, the restore acts by it.

export const restoredTables = [
  "tenants",
  "departments",
  "users",
  "preferences",
  "patients",
  "patient_records",
] as const;
export type RestoredTable = (typeof restoredTables)[number];

export const staged = (table: RestoredTable, alias = "s") =>
  `(select * from staging.${table} where staged_for = $1::uuid) ${alias}`;

/** Rows of the archive under the key of a row of now. */
export const inArchive = (table: RestoredTable, key = "id") =>
  `exists (select from ${staged(table)} where s.${key} = c.${key})`;
export const isThere = (table: RestoredTable, key = "id") =>
  `exists (select from ${table} c where c.tenant_id = $2 and c.${key} = s.${key})`;

/** Administrates now and came since: whoever restores must not be shut out. */
const stays = "(c.role in ('admin', 'superadmin') and c.is_active)";
/** Its e-mail belongs to somebody else now. */
export const emailIsFree = `not exists (select from users o where o.tenant_id = $2 and o.deleted_at is null
  and o.id <> s.id and lower(o.email) = lower(s.email))`;

/** Who headed a department then, if the role allows it now. A block takes no department away, so it does not here. */
export const headOf = (
  isBack: string,
) => `(select u.id from users u where u.tenant_id = $2 and u.id = s.head_doctor_id
  and u.role in ('head_doctor', 'doctor') and (u.deleted_at is null or ${isBack}))`;
export const willBeBack = `exists (select from ${staged("users", "b")} where b.id = u.id and b.deleted_at is null)`;

export const departmentDiffers = "(c.name, c.created_at) is distinct from (s.name, s.created_at)";
export const userDiffers = `(c.email, c.full_name, c.department_id, c.created_at)
  is distinct from (s.email, s.full_name, s.department_id, s.created_at)`;
export const preferenceDiffers = `(c.theme, c.settings::text, c.updated_at)
  is distinct from (s.theme, s.settings::text, s.updated_at)`;
/** Every change of a patient changes updated_at; a rotation of keys seals anew what stays the same. */
export const patientDiffers = `(c.updated_at, c.created_at, c.department_id, c.record_number)
  is distinct from (s.updated_at, s.created_at, s.department_id, s.record_number)`;
/** What was written is never changed; its author may have been purged. */
export const recordDiffers = `(c.patient_id, c.kind, c.created_at, c.author_id)
  is distinct from (s.patient_id, s.kind, s.created_at, (select u.id from users u where u.tenant_id = $2 and u.id = s.author_id))`;
const registrationOf = (row: "c" | "s") => `${row}.settings::jsonb -> 'registration'`;
/**
 * As they were, but for who may register, which stays as it is: it decides who gets in. Where that is the same, the text stays
 * as it was written.
 */
export const settingsBack = `case when ${registrationOf("c")} is not distinct from ${registrationOf("s")} then s.settings
  else ((s.settings::jsonb - 'registration')
    || jsonb_strip_nulls(jsonb_build_object('registration', ${registrationOf("c")})))::json end`;
export const tenantDiffers = `(c.name, c.settings::text) is distinct from (s.name, (${settingsBack})::text)`;

export const back = (table: "users" | "patients") =>
  `${staged(table)} where s.deleted_at is null and not exists (select from ${table} c
    where c.tenant_id = $2 and c.id = s.id and c.deleted_at is null)`;
export const changed = (
  table: "users" | "patients",
  differs: string,
) => `${table} c join ${staged(table)} on s.id = c.id
  where c.tenant_id = $2 and c.deleted_at is null and s.deleted_at is null and ${differs}`;
/** Also who was deleted then and is back since: by an operator, or by a restore that is now taken back. */
export const addedSince = (table: "users" | "patients") =>
  `${table} c where c.tenant_id = $2 and c.deleted_at is null and not exists (select from ${staged(table)}
    where s.id = c.id and s.deleted_at is null)${table === "users" ? ` and not ${stays}` : ""}`;
export const patientIsThere = `(exists (select from patients p where p.tenant_id = $2 and p.id = s.patient_id)
  or exists (select from ${staged("patients", "p")} where p.id = s.patient_id and p.deleted_at is null))`;
export const userIsThere = `(exists (select from users u where u.tenant_id = $2 and u.id = s.user_id)
  or exists (select from ${staged("users", "u")} where u.id = s.user_id and u.deleted_at is null))`;
export const recordsSince = `patient_records c where c.tenant_id = $2 and not ${inArchive("patient_records")}
  and exists (select from ${staged("patients", "p")} where p.id = c.patient_id)`;

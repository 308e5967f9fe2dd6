// Conditions that compare the staged rows of the archive under the job $1 (`s`) with the current rows of the
// tenant $2 (`c`). The plan counts by them, and the restore changes by them.

export const restoredTables = [
  "tenants",
  "departments",
  "users",
  "preferences",
  "patients",
  "patient_records",
] as const;
/** A table that a tenant's restore changes. */
export type RestoredTable = (typeof restoredTables)[number];

/** The staged rows of a table, as a subquery. */
export const staged = (table: RestoredTable, alias = "s") =>
  `(select * from staging.${table} where staged_for = $1::uuid) ${alias}`;

/** The archive contains a row with the key of the current row. */
export const inArchive = (table: RestoredTable, key = "id") =>
  `exists (select from ${staged(table)} where s.${key} = c.${key})`;
/** The tenant has a row with the key of the archived row. */
export const isThere = (table: RestoredTable, key = "id") =>
  `exists (select from ${table} c where c.tenant_id = $2 and c.${key} = s.${key})`;

/** An active administrator who was added since stays, so that the person who restores is not locked out. */
const stays = "(c.role in ('admin', 'superadmin') and c.is_active)";
/** The e-mail address is not used by another user now. */
export const emailIsFree = `not exists (select from users o where o.tenant_id = $2 and o.deleted_at is null
  and o.id <> s.id and lower(o.email) = lower(s.email))`;

/**
 * The head of the department in the archive, if the user's current role permits it. A block does not end a
 * headship, so it does not here either.
 */
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
/**
 * Every change of a patient sets updated_at; resealing by a rotation does not, because it does not change the
 * content.
 */
export const patientDiffers = `(c.updated_at, c.created_at, c.department_id, c.record_number)
  is distinct from (s.updated_at, s.created_at, s.department_id, s.record_number)`;
/** Records are never changed, but their author may have been purged. */
export const recordDiffers = `(c.patient_id, c.kind, c.created_at, c.author_id)
  is distinct from (s.patient_id, s.kind, s.created_at, (select u.id from users u where u.tenant_id = $2 and u.id = s.author_id))`;
const registrationOf = (row: "c" | "s") => `${row}.settings::jsonb -> 'registration'`;
/**
 * The settings of the archive, except for the registration mode, which keeps its current value because it
 * decides who gets access. If both modes are equal, the archived text is used unchanged.
 */
export const settingsBack = `case when ${registrationOf("c")} is not distinct from ${registrationOf("s")} then s.settings
  else ((s.settings::jsonb - 'registration')
    || jsonb_strip_nulls(jsonb_build_object('registration', ${registrationOf("c")})))::json end`;
export const tenantDiffers = `(c.name, c.settings::text) is distinct from (s.name, (${settingsBack})::text)`;

/** Archived rows that are deleted or missing now. */
export const back = (table: "users" | "patients") =>
  `${staged(table)} where s.deleted_at is null and not exists (select from ${table} c
    where c.tenant_id = $2 and c.id = s.id and c.deleted_at is null)`;
/** Rows that exist in both and differ. */
export const changed = (
  table: "users" | "patients",
  differs: string,
) => `${table} c join ${staged(table)} on s.id = c.id
  where c.tenant_id = $2 and c.deleted_at is null and s.deleted_at is null and ${differs}`;
/**
 * Current rows that were not in the archive or were deleted then, for example users restored by an operator
 * or by an earlier restore.
 */
export const addedSince = (table: "users" | "patients") =>
  `${table} c where c.tenant_id = $2 and c.deleted_at is null and not exists (select from ${staged(table)}
    where s.id = c.id and s.deleted_at is null)${table === "users" ? ` and not ${stays}` : ""}`;
export const patientIsThere = `(exists (select from patients p where p.tenant_id = $2 and p.id = s.patient_id)
  or exists (select from ${staged("patients", "p")} where p.id = s.patient_id and p.deleted_at is null))`;
export const userIsThere = `(exists (select from users u where u.tenant_id = $2 and u.id = s.user_id)
  or exists (select from ${staged("users", "u")} where u.id = s.user_id and u.deleted_at is null))`;
export const recordsSince = `patient_records c where c.tenant_id = $2 and not ${inArchive("patient_records")}
  and exists (select from ${staged("patients", "p")} where p.id = c.patient_id)`;

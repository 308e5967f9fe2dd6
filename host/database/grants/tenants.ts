// Tenants and their departments.
import { addJobs, lock, record, runJobs, type ServiceRights, publish } from "./rights.ts";

/** To check that a head doctor has the role, and that a deleted department is empty. */
const users = `select (id, tenant_id, department_id, role, is_active, deleted_at), ${lock}`;
const patients = "select (tenant_id, department_id, deleted_at)";

export const tenants: ServiceRights = {
  tenant: {
    ...addJobs,
    ...runJobs,
    tenants: "select, update (name, settings, updated_at)",
    departments: "select, insert (tenant_id, name, head_doctor_id, created_at, updated_at), update, delete",
    users,
    patients,
    audit_entries: record,
    events: publish,
  },
  platform: {
    ...addJobs,
    tenants: "select, insert, update, delete",
    departments: "select, update, delete",
    users,
    patients,
    audit_entries: record,
    events: publish,
  },
  audits: ["tenant", "department"],
  publishes: ["tenant.updated", "department.created", "department.updated", "department.deleted"],
};

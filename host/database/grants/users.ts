// Users, their accounts and preferences. The service writes password hashes and mail tokens.
import { addJobs, lock, rates, record, refusals, runJobs, type ServiceRights, publish } from "./rights.ts";

const shown = `id, tenant_id, department_id, email, full_name, role, can_see_all_patients, is_active, approved_at,
  email_verified, session_epoch, created_at, updated_at, deleted_at, search_text`;
const written = `department_id, email, full_name, role, can_see_all_patients, is_active, approved_at, email_verified,
  password_hash, session_epoch, updated_at, deleted_at`;
const users = `select (${shown}), insert (tenant_id, created_at, ${written}), update (${written})`;
/** Maintained by triggers of the users' table. */
const userCounts = "select, insert, update";
const departments = "select (id, tenant_id, name, head_doctor_id), update (head_doctor_id, updated_at)";
const tenants = `select (id, name, subdomain), ${lock}`;

export const usersRights: ServiceRights = {
  tenant: {
    ...rates,
    ...addJobs,
    ...runJobs,
    users,
    user_counts: userCounts,
    departments,
    tenants,
    preferences: "select, insert, update",
    registrations: "select, insert, update, delete",
    ...refusals,
    search_user_ids: "execute",
    audit_entries: record,
    events: publish,
  },
  platform: {
    ...addJobs,
    users: `${users}, delete`,
    user_counts: userCounts,
    departments,
    tenants,
    mail_tokens: "select, insert, update, delete",
    registrations: "select, update, delete",
    audit_entries: record,
    events: publish,
  },
  audits: ["user", "preferences", "limit"],
  publishes: [
    "user.created",
    "user.updated",
    "user.blocked",
    "user.unblocked",
    "user.role_changed",
    "user.deleted",
  ],
  enqueues: ["mail.account_approved", "mail.password_changed", "mail.reset_password", "mail.verify_email"],
};

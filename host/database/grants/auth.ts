// Sign-in: the only service that reads password hashes.
import { addJobs, rates, record, refusals, runJobs, type ServiceRights } from "./rights.ts";

export const auth: ServiceRights = {
  tenant: {
    ...rates,
    ...addJobs,
    ...runJobs,
    sessions: "select (id, tenant_id, user_id, user_epoch, ended_at), update (ended_at), delete",
    users: "select (id, tenant_id, session_epoch)",
    audit_entries: record,
  },
  platform: {
    live_sessions: "select",
    sign_in_accounts: "select",
    sessions: "select, insert, delete",
    users: `select (id, tenant_id, department_id, email, role, can_see_all_patients, is_active, approved_at, email_verified,
      password_hash, session_epoch, deleted_at)`,
    tenants: "select (session_epoch)",
    lockouts: "select, insert, update, delete",
    known_origins: "select, insert, update, delete",
    ...refusals,
    // For the sweep of expired rows.
    mail_tokens: "select (token_hash, expires_at), delete",
    rate_limits: "select, delete",
    audit_entries: record,
  },
  audits: ["auth", "limit"],
};

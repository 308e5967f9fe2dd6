// Backups read everything they keep. A restore writes the rows of one tenant with a role of its own.
import { restoreSuffix } from "../../../services/shared/database/scope.ts";
import {
  addJobs,
  limits,
  lock,
  type Privileges,
  record,
  runJobs,
  type ServiceRights,
  publish,
} from "./rights.ts";

/** The tables in a tenant's archive. */
const kept: Privileges = {
  tenants: "select",
  departments: "select",
  users: "select",
  preferences: "select",
  patients: "select",
  patient_records: "select",
  audit_heads: "select",
};

/** The tables that a full backup holds besides. */
const everything = [
  "audit_entries",
  "audit_checkpoints",
  "audit_sinks",
  "audit_signing_keys",
  "audit_proofs",
  "daily_counts",
  "events",
  "fan_out_queue",
  "delivery_targets",
  "deliveries",
  "delivery_attempts",
  "webhooks",
  "messenger_links",
  "messenger_updates",
  "payments",
  "payment_notifications",
  "master_keys",
  "data_keys",
  "rotations",
  "rotation_tenants",
  "quarantined_fields",
];

/** For staging the rows of an archive, and for replacing the current ones. */
const staged = Object.fromEntries(
  [...Object.keys(kept), ...everything].map((table) => [`staging.${table}`, "select, insert, delete"]),
);

const restoring: Privileges = {
  public: "usage",
  staging: "usage",
  ...staged,
  departments: "select, insert, update, delete",
  users: "select, insert, update",
  user_counts: "select, insert, update",
  preferences: "select, insert, update, delete",
  tenants: "select, update",
  tenant_freezes: "select (tenant_id, until)",
  patients: "select, insert, update",
  patient_records: "select, insert, update, delete",
  users_id_seq: "usage, select, update",
  departments_id_seq: "usage, select, update",
  patients_id_seq: "usage, select, update",
  patient_records_id_seq: "usage, select, update",
  hold_sealing_keys: "execute",
};

export const backups: ServiceRights = {
  assumes: { suffix: restoreSuffix, privileges: restoring },
  tenant: { ...addJobs, ...runJobs, ...kept, backups: "select", backup_jobs: "select" },
  platform: {
    ...addJobs,
    ...kept,
    ...Object.fromEntries(everything.map((table) => [table, "select"])),
    ...limits,
    tenants: `select, ${lock}`,
    mikro_orm_migrations: "select",
    backups: "select, insert, update, delete",
    backup_jobs: "select, insert, update, delete",
    backup_tickets: "select, insert, delete",
    live_sessions: "select",
    sessions: "select (id, tenant_id, user_id, user_epoch, tenant_epoch, expires_at, ended_at)",
    tenant_freezes: "select, insert, update, delete",
    audit_entries: `select, ${record}`,
    events: `select, ${publish}`,
  },
  audits: ["backup", "restore", "limit"],
  publishes: ["backup.succeeded", "backup.failed", "restore.succeeded", "restore.failed"],
  enqueues: ["mail.backup_trouble"],
};

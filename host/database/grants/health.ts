// Health: counts, and which master key is in use. It audits changes of the log level.
import { type Privileges, record, type ServiceRights } from "./rights.ts";

const counted: Privileges = {
  backups: "select (tenant_id, state, created_at, tested_at, test_passed)",
  user_counts: "select (tenant_id, users)",
  departments: "select (tenant_id)",
  patients: "select (tenant_id, deleted_at)",
  delivery_targets: "select (tenant_id, channel, deleted_at)",
  deliveries: "select (state)",
  daily_counts: "select (day, taken, bound)",
  incidents: "select (tenant_id, ended_at)",
  audit_proofs: "select (signed_at, proved_at, first_bad_seq)",
};

export const health: ServiceRights = {
  tenant: counted,
  platform: {
    ...counted,
    master_keys: "select (version, state)",
    rotations: "select (id, state, rows_total, rows_done)",
    audit_entries: record,
  },
  // It writes no "health" entries; the contract check requires the resource for every service that audits.
  audits: ["health", "log"],
};

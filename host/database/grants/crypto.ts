// Crypto: the only access to keys, and to the columns that they encrypt. None of its work is limited to one tenant.
import { lock, record, type ServiceRights, publish } from "./rights.ts";

/** xmin identifies the version of a row while it is encrypted again. */
const resealed = (columns: string) => `select (id, tenant_id, xmin, ${columns}), update (${columns})`;

export const crypto: ServiceRights = {
  tenant: {},
  platform: {
    master_keys: "select, insert, update (state, wrapped, destroyed_at)",
    data_keys: "select, insert, update (state, wrapped, master_version, demoted_at)",
    data_keys_id_seq: "usage",
    rotations: "select, insert, update",
    rotation_tenants: "select, insert, update, delete",
    quarantined_fields: "select, insert, update, delete",
    patients: resealed("identity, notes"),
    patient_records: resealed("body"),
    webhooks: resealed("secret, previous_secret"),
    archive_keys: "select, insert, update, delete",
    tenants: lock,
    audit_entries: record,
    events: publish,
  },
  audits: ["encryption"],
  publishes: ["encryption.rotated"],
};

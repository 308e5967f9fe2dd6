// The keyring and the rotation: alone with the keys, and with what is sealed by them. Nothing of it is done for one tenant.
import { lock, record, type ServiceRights, tell } from "./rights.ts";

/** xmin is what a row's version is known by when it is sealed anew. */
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
    events: tell,
  },
  audits: ["encryption"],
  tells: ["encryption.rotated"],
};

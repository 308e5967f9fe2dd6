// Patients and their records, with encrypted fields.
import { addJobs, record, runJobs, type ServiceRights, publish } from "./rights.ts";

const shown = `id, tenant_id, department_id, record_number, record_key, identity, notes, full_name_index, phone_index, version,
  created_at, updated_at, deleted_at, stamp`;
const written =
  "department_id, record_number, identity, notes, full_name_index, phone_index, version, updated_at, deleted_at";

export const patients: ServiceRights = {
  tenant: {
    ...addJobs,
    ...runJobs,
    // Triggers change the stamp.
    patients: `select (${shown}), insert (id, tenant_id, ${written}), update (${written}, stamp)`,
    patients_id_seq: "usage",
    patient_records: "select, insert (id, tenant_id, patient_id, author_id, kind, body)",
    patient_records_id_seq: "usage",
    departments: "select (id, tenant_id)",
    hold_sealing_keys: "execute",
    append_entries: "execute",
    audit_entries: record,
    events: publish,
  },
  platform: {
    patients: `select (${shown}), delete, update (deleted_at)`,
    audit_entries: record,
  },
  audits: ["patient", "record"],
  publishes: ["patient.created", "patient.updated", "patient.deleted", "record.created"],
};

// Row-level security of the new tables. Keys are for the platform scope alone: only the crypto service reads them, and no
// statement made for a tenant can. Records are written once, so nobody may change one.
import { tenantPolicies } from "../policies.ts";

export const policies = `
${tenantPolicies(["data_keys", "patients", "patient_records"])}

grant select, insert on master_keys, data_keys to records_platform;
grant update (state) on data_keys to records_platform;
grant usage on sequence data_keys_id_seq to records_platform;
grant select, insert, update on patients to records_app;
grant select, insert on patient_records to records_app;
grant usage on sequence patients_id_seq, patient_records_id_seq to records_app;
-- Locking rows for the purge takes a right to update.
grant select, delete, update (deleted_at) on patients to records_platform;
grant select on patient_records to records_platform;
`;

// Row-level security of the new tables. Keys are for the platform scope alone: only the crypto service reads them, and no
// statement made for a tenant can. Records are written once, so nobody may change one.
export const policies = `
do $$
declare name text;
begin
  foreach name in array array['data_keys', 'patients', 'patient_records'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy one_tenant on %I to records_app using (tenant_id = app_tenant())', name);
    execute format('create policy every_tenant on %I to records_platform using (true)', name);
  end loop;
end $$;

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

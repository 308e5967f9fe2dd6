// Triggers that a statement over many rows pays once instead of for each row: a restore writes hundreds of thousands.
// live_keys: an INSERT looks at all of its rows together. It holds the keys' rows behind the insert instead of before it, which
//   is as good: who destroys a key locks its row first and looks for rows that name it afterwards. If it looked before the insert
//   could be seen, the insert waits for it here, finds the key destroyed, and fails.
// frozen: the job's own setting is asked by the trigger's condition, as refuse_frozen() did first of all; no function is called.
export const bulkWrites = `
create function hold_inserted_keys() returns trigger language plpgsql as $$
declare each record;
begin
  if tg_table_name = 'patients' then
    for each in select tenant_id, array_agg(distinct head) as heads from (
        select tenant_id, substring(identity from 1 for 6) as head from inserted
        union select tenant_id, substring(notes from 1 for 6) from inserted) named
        where head is not null group by tenant_id loop
      perform hold_sealing_keys(each.tenant_id, each.heads);
    end loop;
  else
    for each in select tenant_id, array_agg(distinct substring(body from 1 for 6)) as heads from inserted
        group by tenant_id loop
      perform hold_sealing_keys(each.tenant_id, each.heads);
    end loop;
  end if;
  return null;
end $$;

drop trigger live_keys on patients;
create trigger live_keys before update of identity, notes on patients
  for each row when (app_tenant() is not null) execute function hold_patient_keys();
create trigger live_keys_inserted after insert on patients referencing new table as inserted
  for each statement when (app_tenant() is not null) execute function hold_inserted_keys();

drop trigger live_keys on patient_records;
create trigger live_keys before update of body on patient_records
  for each row when (app_tenant() is not null) execute function hold_record_keys();
create trigger live_keys_inserted after insert on patient_records referencing new table as inserted
  for each statement when (app_tenant() is not null) execute function hold_inserted_keys();

do $$
declare name text;
begin
  foreach name in array array['users', 'patients', 'patient_records', 'preferences'] loop
    execute format('drop trigger frozen on %I', name);
    execute format('create trigger frozen before insert or update on %I for each row
      when (coalesce(current_setting(''app.restore_job'', true), '''') = '''') execute function refuse_frozen_row()', name);
  end loop;
end $$;

-- A restore stamps each patient once (stamp_patient_of_record() returned at once for it).
drop trigger stamp on patient_records;
create trigger stamp_inserted after insert on patient_records
  for each row when (coalesce(current_setting('app.restore_job', true), '') = '') execute function stamp_patient_of_record();
create trigger stamp after delete or update of kind, author_id, created_at, patient_id on patient_records
  for each row execute function stamp_patient_of_record();
`;

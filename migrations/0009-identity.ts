// Name, birth date and phone of a patient are sealed as one text, so the database shows neither their lengths nor which of
// them there are. SQL cannot seal, and no released version sealed them apart: a database with patients is refused.
import { Migration } from "@mikro-orm/migrations";

// FORCE holds the owner to the policies too, under which no patient would be seen.
const identity = `
alter table patients no force row level security;
alter table quarantined_fields no force row level security;
do $$
begin
  if exists (select from patients) then
    raise exception 'The patients in the database are of an unreleased version and cannot be carried over: start with an empty database.'
      using errcode = 'RM001';
  end if;
end $$;
-- Of patients who were purged: nobody would look for these columns any more.
delete from quarantined_fields where table_name = 'patients';
alter table patients force row level security;
alter table quarantined_fields force row level security;

drop trigger live_keys on patients;
alter table patients drop column full_name, drop column birth_date, drop column phone,
  add column identity bytea not null;

create or replace function hold_patient_keys() returns trigger language plpgsql as $$
begin
  perform hold_sealing_keys(new.tenant_id, array[new.identity, new.notes]);
  return new;
end $$;
create trigger live_keys before insert or update of identity, notes on patients
  for each row when (app_tenant() is not null) execute function hold_patient_keys();

grant update (identity, notes) on patients to records_platform;
`;

export class Identity extends Migration {
  override up(): void {
    this.addSql(identity);
  }
}

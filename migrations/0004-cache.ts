// What makes a cached patient provably fresh: a stamp that changes with everything that is read of the patient. It is
// random, not counted, so that neither a restored nor a rewound database can give the same one to another content.
// Sealing a row anew for a key rotation changes nothing that is read, so it leaves the stamp alone.
import { Migration } from "@mikro-orm/migrations";

const stamps = `
alter table patients add column stamp uuid not null default gen_random_uuid();

create function stamp_patient() returns trigger language plpgsql as $$
begin
  new.stamp := gen_random_uuid();
  return new;
end $$;
create trigger stamp before update on patients for each row
  when ((old.version, old.department_id, old.record_number, old.created_at, old.updated_at, old.deleted_at)
    is distinct from (new.version, new.department_id, new.record_number, new.created_at, new.updated_at, new.deleted_at))
  execute function stamp_patient();

create function stamp_patient_of_record() returns trigger language plpgsql as $$
begin
  update patients set stamp = gen_random_uuid()
    where (tenant_id, id) in ((old.tenant_id, old.patient_id), (new.tenant_id, new.patient_id));
  return null;
end $$;
create trigger stamp after insert or delete or update of kind, author_id, created_at, patient_id on patient_records
  for each row execute function stamp_patient_of_record();

grant update (stamp) on patients to records_platform;
`;

export class Cache extends Migration {
  override up(): void {
    this.addSql(stamps);
  }
}

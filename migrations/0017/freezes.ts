// tenant_freezes: tenants that are being restored, each for some seconds at a time: the job prolongs it, and one that died
//   lets go by itself. A row dies when its job ends, or is swept.
// Whoever writes what a restore brings back meets the freeze in the database itself: a shared lock, held to the end of the
// transaction, that the restore takes alone. Nobody waits for it with a row in hand, or the restore, which wants that row,
// would wait for them: who does not get it is refused.
// The restore itself writes under its job's id.
import { policiesOf } from "../policies.ts";

export const freezes = `
create table tenant_freezes (
  tenant_id integer primary key references tenants on delete cascade,
  job_id uuid not null,
  frozen_at timestamptz(3) not null default now(),
  until timestamptz not null
);
${policiesOf("tenant_freezes")}
grant select on tenant_freezes to records_app;
grant select, insert, update, delete on tenant_freezes to records_platform;

create function refuse_frozen(tenant integer) returns void language plpgsql as $$
begin
  if current_setting('app.restore_job', true) <> '' then
    return;
  end if;
  if not pg_try_advisory_xact_lock_shared(7206513, tenant)
      or exists (select from tenant_freezes f where f.tenant_id = tenant and f.until > clock_timestamp()) then
    raise exception 'the tenant is being restored' using errcode = 'RF001';
  end if;
end $$;

create function refuse_frozen_row() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    perform refuse_frozen(old.tenant_id);
    return old;
  end if;
  perform refuse_frozen(new.tenant_id);
  return new;
end $$;
create function refuse_frozen_tenant() returns trigger language plpgsql as $$
begin
  perform refuse_frozen(new.id);
  return new;
end $$;

-- What is purged was deleted long ago: a restore does not miss it, and the purge of all tenants need not stop for one.
-- A restore stamps each patient once, not once for every record.
create or replace function stamp_patient_of_record() returns trigger language plpgsql as $$
begin
  if current_setting('app.restore_job', true) <> '' then
    return null;
  end if;
  update patients set stamp = gen_random_uuid()
    where (tenant_id, id) in ((old.tenant_id, old.patient_id), (new.tenant_id, new.patient_id));
  return null;
end $$;

create trigger frozen before insert or update on users for each row execute function refuse_frozen_row();
create trigger frozen before insert or update on patients for each row execute function refuse_frozen_row();
create trigger frozen before insert or update on patient_records for each row execute function refuse_frozen_row();
create trigger frozen before insert or update or delete on departments for each row execute function refuse_frozen_row();
create trigger frozen before insert or update on preferences for each row execute function refuse_frozen_row();
create trigger frozen before insert on sessions for each row execute function refuse_frozen_row();
create trigger frozen before update on tenants for each row execute function refuse_frozen_tenant();
`;

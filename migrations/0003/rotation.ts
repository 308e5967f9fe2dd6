// rotations: one row per change of the master key, and the state of its walk. A row is never deleted: it is the history
//   of the keys. The worker that walks holds it by a lease.
// rotation_tenants: how far the walk of a rotation is in each tenant; the rows die when the rotation is finished, or
//   with their tenant.
// quarantined_fields: sealed fields that a walk could not open. A row dies when the field is opened by a later walk, or
//   with its tenant.
import { tenantPolicies } from "../policies.ts";

export const rotation = `
create table rotations (
  id integer generated always as identity primary key,
  master_version integer not null unique references master_keys,
  previous_version integer not null references master_keys,
  state text not null default 'running' check (state in ('running', 'finished')),
  rewrapped integer not null,
  rows_total bigint not null,
  rows_done bigint not null default 0,
  tenants_total integer not null,
  started_at timestamptz(3) not null default now(),
  finished_at timestamptz(3),
  leased_by uuid,
  leased_until timestamptz not null default now(),
  check ((state = 'finished') = (finished_at is not null))
);
create unique index rotations_running on rotations (state) where state = 'running';

create table rotation_tenants (
  rotation_id integer not null references rotations on delete cascade,
  tenant_id integer not null references tenants on delete cascade,
  -- 1: every row once; 2: what was sealed meanwhile by those who still held the old key; 3: done.
  pass integer not null default 1 check (pass in (1, 2, 3)),
  -- Which of the sealed tables, in the order of their registry, and the last row's id there.
  place integer not null default 0,
  after_id integer not null default 0,
  primary key (rotation_id, tenant_id)
);
create index rotation_tenants_tenant on rotation_tenants (tenant_id);
create index rotation_tenants_open on rotation_tenants (rotation_id, pass, tenant_id) where pass < 3;

create table quarantined_fields (
  tenant_id integer not null references tenants on delete cascade,
  table_name text not null,
  row_id integer not null,
  column_name text not null,
  -- Null when the bytes are not even of the form that names a key.
  key_id bigint,
  reason text not null check (reason in ('format', 'key', 'authentication')),
  rotation_id integer not null references rotations,
  found_at timestamptz(3) not null default now(),
  primary key (tenant_id, table_name, row_id, column_name)
);

${tenantPolicies(["rotation_tenants", "quarantined_fields"])}

-- When it stopped sealing: processes may hold it a little longer.
alter table data_keys add column demoted_at timestamptz(3);
grant update (demoted_at) on data_keys to records_platform;

-- The last word against a late hand (a process that was stopped for an hour in the middle of a request): nothing is
-- written under a key that is destroyed, and no key is destroyed while a row under it is being written, because the
-- destroyer locks the key's row alone, and only then looks for rows that name it.
create function hold_sealing_keys(tenant integer, sealed bytea[]) returns void
  language plpgsql security definer set search_path = public as $$
declare named integer[];
begin
  select array_agg(distinct ('x' || encode(substring(each from 2 for 4), 'hex'))::bit(32)::integer) into named
    from unnest(sealed) each where length(each) > 5;
  perform from data_keys where tenant_id = tenant and id = any(named) and state <> 'destroyed' order by id for share;
  if exists (select from unnest(named) key where not exists (
    select from data_keys where tenant_id = tenant and id = key and state <> 'destroyed')) then
    raise exception 'sealed with a key that is no more' using errcode = 'RK001';
  end if;
end $$;
do $$
begin
  execute format('create policy keys_owner on data_keys to %I using (true)', current_user);
end $$;

create function hold_patient_keys() returns trigger language plpgsql as $$
begin
  perform hold_sealing_keys(new.tenant_id, array[new.full_name, new.birth_date, new.phone, new.notes]);
  return new;
end $$;
create trigger live_keys before insert or update of full_name, birth_date, phone, notes on patients
  for each row when (app_tenant() is not null) execute function hold_patient_keys();

create function hold_record_keys() returns trigger language plpgsql as $$
begin
  perform hold_sealing_keys(new.tenant_id, array[new.body]);
  return new;
end $$;
create trigger live_keys before insert or update of body on patient_records
  for each row when (app_tenant() is not null) execute function hold_record_keys();

grant select, insert, update on rotations to records_platform;
grant select, insert, update, delete on rotation_tenants, quarantined_fields to records_platform;
grant update (state, wrapped, destroyed_at) on master_keys to records_platform;
grant update (state, wrapped, master_version) on data_keys to records_platform;
-- Sealing anew changes no other column, and nobody else changes a record.
grant update (full_name, birth_date, phone, notes) on patients to records_platform;
grant update (body) on patient_records to records_platform;
`;

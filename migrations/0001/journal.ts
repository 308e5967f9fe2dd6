// audit_entries: what was done, refused or failed; never changed and never deleted, also not with its tenant. The
//   database itself numbers and chains each entry (whatever inserts it), so no client can leave a gap or forge a link.
// audit_heads: the last link per tenant, so that a cut tail is seen. Its row lock orders a tenant's changes.
// events: the outbox; a row is written with the change it tells of and swept after the retention.
export const journal = `
create table audit_heads (
  tenant_id integer primary key,
  seq bigint not null,
  hash bytea not null
);

create table audit_entries (
  id bigint generated always as identity primary key,
  tenant_id integer not null,
  seq bigint not null,
  user_id integer,
  action text not null check (action ~ '^[a-z_]+\\.[a-z_]+$'),
  target_type text,
  target_id text,
  outcome text not null check (outcome in ('ok', 'denied', 'error')),
  changes json not null default '{}',
  ip text,
  user_agent text,
  request_id text,
  created_at timestamptz(3) not null default clock_timestamp(),
  prev_hash bytea not null,
  hash bytea not null,
  unique (tenant_id, seq)
);
create index audit_by_time on audit_entries (tenant_id, created_at, id);
create index audit_by_action on audit_entries (tenant_id, action text_pattern_ops, id);
create index audit_by_user on audit_entries (tenant_id, user_id, id);
create index audit_all_by_time on audit_entries (created_at, id);

create function audit_canonical(e audit_entries) returns text language sql immutable
  return '{"action":' || to_json(e.action)
    || ',"changes":' || e.changes
    || ',"created_at":"' || to_char(e.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    || '","id":' || e.id
    || ',"ip":' || coalesce(to_json(e.ip)::text, 'null')
    || ',"outcome":' || to_json(e.outcome)
    || ',"request_id":' || coalesce(to_json(e.request_id)::text, 'null')
    || ',"seq":' || e.seq
    || ',"target_id":' || coalesce(to_json(e.target_id)::text, 'null')
    || ',"target_type":' || coalesce(to_json(e.target_type)::text, 'null')
    || ',"tenant_id":' || e.tenant_id
    || ',"user_agent":' || coalesce(to_json(e.user_agent)::text, 'null')
    || ',"user_id":' || coalesce(e.user_id::text, 'null') || '}';

create function audit_chain() returns trigger language plpgsql security definer set search_path = public as $$
declare head audit_heads;
begin
  insert into audit_heads values (new.tenant_id, 0, decode(repeat('00', 32), 'hex')) on conflict do nothing;
  select * into head from audit_heads where tenant_id = new.tenant_id for update;
  new.seq := head.seq + 1;
  new.created_at := clock_timestamp();
  new.prev_hash := head.hash;
  new.hash := sha256(head.hash || convert_to(audit_canonical(new), 'UTF8'));
  update audit_heads set seq = new.seq, hash = new.hash where tenant_id = new.tenant_id;
  return new;
end $$;
create trigger chain before insert on audit_entries for each row execute function audit_chain();

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger immutable before update or delete on audit_entries for each row execute function refuse_change();
create trigger immutable_whole before truncate on audit_entries for each statement execute function refuse_change();
create trigger undeletable before delete on audit_heads for each row execute function refuse_change();
create trigger undeletable_whole before truncate on audit_heads for each statement execute function refuse_change();

create table events (
  id bigint generated always as identity primary key,
  tenant_id integer not null,
  kind text not null,
  payload json not null,
  created_at timestamptz(3) not null default now()
);
create index events_by_tenant on events (tenant_id, id);
create index events_age on events (created_at);
`;

// The first tables. Roles: `records_app` (what services run as: sees one tenant's rows), `records_platform` (work across
// tenants, taken up loudly by SET LOCAL ROLE), `records_search` (owns the one search function).
// None of them owns a table, is a superuser or bypasses row-level security; FORCE holds the owner to the policies too.
import { Migration } from "@mikro-orm/migrations";

const roles = `
do $$
declare wanted text;
begin
  foreach wanted in array array['records_app', 'records_platform', 'records_search'] loop
    if not exists (select from pg_roles where rolname = wanted) then
      begin
        execute format('create role %I nologin nosuperuser nobypassrls nocreaterole nocreatedb', wanted);
      exception when duplicate_object or unique_violation then null; -- another database of this server was quicker
      end;
    end if;
  end loop;
end $$;
revoke create on schema public from public;
grant usage on schema public to records_app, records_platform, records_search;
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

create function app_tenant() returns integer language sql stable parallel safe
  return nullif(current_setting('app.tenant_id', true), '')::integer;
`;

// tenants: one row per customer; hidden at once by deleted_at, purged after the retention.
// departments: the units of a tenant; a row dies by DELETE, which the service allows only when nobody is in it.
// users: people and what they may do; hidden at once by deleted_at, purged after the retention. session_epoch counts
//   up whenever every session of the user must end (block, role, password): a session is live only while it holds the
//   present number, so one UPDATE of one row revokes all of them. tenants.session_epoch does the same for a tenant.
// user_counts: how many live users per role and state, so that a list's exact total costs a dozen rows, not a count.
// preferences: one row per user that ever set any; dies with the user.
const people = `
create table tenants (
  id integer generated always as identity primary key,
  name text not null check (length(name) between 1 and 200),
  subdomain text not null check (subdomain ~ '^[a-z0-9](?:[a-z0-9-]{1,61}[a-z0-9])$'),
  settings json not null default '{}',
  is_active boolean not null default true,
  session_epoch integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  check (subdomain <> 'platform' or (is_active and deleted_at is null))
);
create unique index tenants_subdomain on tenants (subdomain) where deleted_at is null;

create table departments (
  id integer generated always as identity primary key,
  tenant_id integer not null references tenants on delete cascade,
  name text not null check (length(name) between 1 and 200),
  head_doctor_id integer,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (tenant_id, id)
);
create index departments_by_name on departments (tenant_id, lower(name), id);
create index departments_head on departments (tenant_id, head_doctor_id) where head_doctor_id is not null;

create table users (
  id integer generated always as identity primary key,
  tenant_id integer not null references tenants on delete cascade,
  department_id integer,
  email text not null check (length(email) between 3 and 254),
  full_name text not null check (length(full_name) between 1 and 200),
  role text not null check (role in ('superadmin', 'admin', 'head_doctor', 'doctor', 'nurse', 'registrar')),
  can_see_all_patients boolean not null default false,
  is_active boolean not null default true,
  approved_at timestamptz(3),
  email_verified boolean not null default false,
  password_hash text not null,
  session_epoch integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  search_text text not null generated always as (lower(full_name || E'\\n' || email)) stored,
  unique (tenant_id, id),
  foreign key (tenant_id, department_id) references departments (tenant_id, id) on delete set null (department_id),
  check (not is_active or approved_at is not null)
);
alter table departments add foreign key (tenant_id, head_doctor_id) references users (tenant_id, id)
  on delete set null (head_doctor_id);
create unique index users_email on users (tenant_id, lower(email)) where deleted_at is null;
create index users_live on users (tenant_id, id) where deleted_at is null;
create index users_by_name on users (tenant_id, lower(full_name), id) where deleted_at is null;
create index users_by_email on users (tenant_id, lower(email), id) where deleted_at is null;
create index users_by_created on users (tenant_id, created_at, id) where deleted_at is null;
create index users_by_role on users (tenant_id, role, id) where deleted_at is null;
create index users_by_state on users (tenant_id, is_active, id) where deleted_at is null;
create index users_department on users (tenant_id, department_id) where department_id is not null;
create index users_deleted on users (deleted_at) where deleted_at is not null;
create index users_search on users using gin (tenant_id, search_text gin_trgm_ops) where deleted_at is null;

create table user_counts (
  tenant_id integer not null references tenants on delete cascade,
  role text not null,
  is_active boolean not null,
  users integer not null,
  primary key (tenant_id, role, is_active)
);

create function count_users() returns trigger language plpgsql as $$
begin
  insert into user_counts as c (tenant_id, role, is_active, users)
    select tenant_id, role, is_active, sum(step)::integer from (
      select tenant_id, role, is_active, 1 as step from after_rows where tg_op <> 'DELETE' and deleted_at is null
      union all
      select tenant_id, role, is_active, -1 from before_rows where tg_op <> 'INSERT' and deleted_at is null
    ) steps
    group by tenant_id, role, is_active having sum(step) <> 0
    order by tenant_id, role, is_active
  on conflict (tenant_id, role, is_active) do update set users = c.users + excluded.users;
  return null;
end $$;
create function count_users_inserted() returns trigger language plpgsql as $$
begin
  insert into user_counts as c (tenant_id, role, is_active, users)
    select tenant_id, role, is_active, count(*)::integer from after_rows where deleted_at is null
    group by tenant_id, role, is_active order by tenant_id, role, is_active
  on conflict (tenant_id, role, is_active) do update set users = c.users + excluded.users;
  return null;
end $$;
create function count_users_deleted() returns trigger language plpgsql as $$
begin
  update user_counts c set users = c.users - gone.users from (
    select tenant_id, role, is_active, count(*)::integer as users from before_rows where deleted_at is null
    group by tenant_id, role, is_active
  ) gone
  where (c.tenant_id, c.role, c.is_active) = (gone.tenant_id, gone.role, gone.is_active);
  return null;
end $$;
create trigger count_inserted after insert on users referencing new table as after_rows
  for each statement execute function count_users_inserted();
create trigger count_updated after update on users referencing old table as before_rows new table as after_rows
  for each statement execute function count_users();
create trigger count_deleted after delete on users referencing old table as before_rows
  for each statement execute function count_users_deleted();

create table preferences (
  tenant_id integer not null,
  user_id integer not null,
  theme text not null check (theme in ('light', 'dark', 'system')),
  settings json not null default '{}',
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade
);
`;

// sessions: one row per sign-in, read by every request; swept some days after its end.
// mail_tokens: at most one verification and one reset per user, hashed; deleted by use, swept after expiry.
// lockouts: failed sign-ins per (tenant, e-mail), also of accounts that do not exist; swept a day after the last.
// rate_limits: the shared counters of rate-limiter-flexible; unlogged, as losing them in a crash only forgives.
const signIn = `
create table sessions (
  id uuid primary key,
  tenant_id integer not null,
  user_id integer not null,
  user_epoch integer not null,
  tenant_epoch integer not null,
  ip text,
  user_agent text,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade
);
create index sessions_user on sessions (tenant_id, user_id);
create index sessions_expiry on sessions (expires_at);

create table mail_tokens (
  tenant_id integer not null,
  user_id integer not null,
  kind text not null check (kind in ('verify_email', 'reset_password')),
  token_hash bytea not null unique check (length(token_hash) = 32),
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  primary key (tenant_id, user_id, kind),
  foreign key (tenant_id, user_id) references users (tenant_id, id) on delete cascade
);
create index mail_tokens_expiry on mail_tokens (expires_at);

create table lockouts (
  tenant_id integer not null references tenants on delete cascade,
  email text not null,
  state json not null,
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, email)
);
create index lockouts_age on lockouts (updated_at);

create unlogged table rate_limits (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
`;

// audit_entries: what was done, refused or failed; never changed and never deleted, also not with its tenant. The
//   database itself numbers and chains each entry (whatever inserts it), so no client can leave a gap or forge a link.
// audit_heads: the last link per tenant, so that a cut tail is seen. Its row lock orders a tenant's changes.
// events: the outbox; a row is written with the change it tells of and swept after the retention.
const journal = `
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

// Row-level security. The search function is the one door in it: LIKE is not leakproof, so under a policy it could not
// use the trigram index. The function runs as records_search, whose policy is constant, pins the tenant itself and
// gives out ids only.
const policies = `
do $$
declare
  name text;
  tenant_column text;
begin
  foreach name in array array['tenants', 'departments', 'users', 'user_counts', 'preferences', 'sessions',
                              'mail_tokens', 'lockouts', 'audit_entries', 'audit_heads', 'events'] loop
    tenant_column := case name when 'tenants' then 'id' else 'tenant_id' end;
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy one_tenant on %I to records_app using (%I = (select app_tenant()))', name, tenant_column);
    execute format('create policy every_tenant on %I to records_platform using (true)', name);
  end loop;
end $$;

grant select, insert, update, delete on departments, users, preferences, sessions, mail_tokens, lockouts, user_counts
  to records_app, records_platform;
grant select, insert, update, delete on tenants to records_platform;
grant select, update on tenants to records_app;
grant select on audit_heads to records_app, records_platform;
grant select, insert on audit_entries, events to records_app, records_platform;
grant delete on events to records_platform;
grant select, insert, update, delete on rate_limits to records_app, records_platform;

-- The chain's trigger runs as the owner, whom FORCE holds to the policies as well: it needs its own.
do $$
begin
  execute format('create policy chain_owner on audit_heads to %I using (true)', current_user);
end $$;

grant select (id, tenant_id, search_text, deleted_at, role, is_active, email, full_name, created_at)
  on users to records_search;
create policy searched_by_the_function on users for select to records_search using (true);

-- One page of ids in the order asked for, each row with the exact total (one row with a null id when the page is empty).
-- The statement is planned for each term, because a rare and a common one want different plans.
create function search_user_ids(
  term text, wanted_role text, wanted_state boolean, sort text, descending boolean, page_limit integer, page_offset integer
) returns table (found_id integer, total integer) language plpgsql stable security definer set search_path = public as $$
declare
  sort_key text := case sort when 'email' then 'lower(email)' when 'full_name' then 'lower(full_name)'
    when 'role' then 'role' when 'is_active' then 'is_active' when 'created_at' then 'created_at' else 'id' end;
  direction text := case when descending then 'desc' else 'asc' end;
begin
  return query execute 'with hits as materialized (
      select id, ' || sort_key || ' as sort_key from users
      where tenant_id = $1 and deleted_at is null and search_text like $2'
      || case when wanted_role is null then '' else ' and role = $3' end
      || case when wanted_state is null then '' else ' and is_active = $4' end || ')
    select page.id, counted.total from (select count(*)::integer as total from hits) counted
    left join lateral (select id from hits order by sort_key ' || direction || ', id ' || direction || '
      limit $5 offset $6) page on true'
    using app_tenant(), term, wanted_role, wanted_state, page_limit, page_offset;
end $$;
revoke all on function search_user_ids from public;
grant execute on function search_user_ids to records_app;
`;

// What signing in and checking a token read together, in one place.
const views = `
create view sign_in_accounts with (security_invoker = true) as
  select u.id as user_id, u.tenant_id, t.subdomain, lower(u.email) as email_key, u.role, u.password_hash, u.is_active,
    u.approved_at is not null as approved, u.email_verified, u.session_epoch as user_epoch, t.session_epoch as tenant_epoch
  from users u join tenants t on t.id = u.tenant_id
  where u.deleted_at is null and t.deleted_at is null and t.is_active;
grant select on sign_in_accounts to records_platform;

create view live_sessions with (security_invoker = true) as
  select s.id, s.user_id, s.tenant_id, u.role, u.department_id, u.can_see_all_patients
  from sessions s
  join users u on u.tenant_id = s.tenant_id and u.id = s.user_id and u.session_epoch = s.user_epoch
  join tenants t on t.id = s.tenant_id and t.session_epoch = s.tenant_epoch
  where s.ended_at is null and s.expires_at > now()
    and u.is_active and u.deleted_at is null and t.is_active and t.deleted_at is null;
grant select on live_sessions to records_platform;
`;

// The owner changes hands of the search function only here, at the end: CREATE FUNCTION made it ours.
const searchOwner = `
do $$
begin
  execute format('grant records_search to %I', current_user);
  grant create on schema public to records_search;
  alter function search_user_ids owner to records_search;
  revoke create on schema public from records_search;
end $$;
`;

export class Foundation extends Migration {
  override up(): void {
    for (const part of [roles, people, signIn, journal, policies, views, searchOwner]) this.addSql(part);
  }
}

// tenants: one row per customer; hidden at once by deleted_at, purged after the retention.
// departments: the units of a tenant; a row dies by DELETE, which the service allows only when nobody is in it.
// users: people and what they may do; hidden at once by deleted_at, purged after the retention. session_epoch counts
//   up whenever every session of the user must end (block, role, password): a session is live only while it holds the
//   present number, so one UPDATE of one row revokes all of them. tenants.session_epoch does the same for a tenant.
// user_counts: how many live users per role and state, so that a list's exact total costs a dozen rows, not a count.
// preferences: one row per user that ever set any; dies with the user.
// A tenant's users are indexed and ordered by id::bigint, not by id: for an order by id the planner may take the primary
//   key, which holds all tenants' rows, and pass over a million others to find the first of a small tenant.
export const people = `
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
create index users_live on users (tenant_id, (id::bigint)) where deleted_at is null;
create index users_by_name on users (tenant_id, lower(full_name), (id::bigint)) where deleted_at is null;
create index users_by_email on users (tenant_id, lower(email), (id::bigint)) where deleted_at is null;
create index users_by_created on users (tenant_id, created_at, (id::bigint)) where deleted_at is null;
create index users_by_role on users (tenant_id, role, (id::bigint)) where deleted_at is null;
create index users_by_state on users (tenant_id, is_active, (id::bigint)) where deleted_at is null;
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

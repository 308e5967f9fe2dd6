// sessions: one row per sign-in, read by every request; swept some days after its end.
// mail_tokens: at most one verification and one reset per user, hashed; deleted by use, swept after expiry.
// lockouts: failed sign-ins per (tenant, e-mail), also of accounts that do not exist; swept a day after the last.
// rate_limits: the shared counters of rate-limiter-flexible; unlogged, as losing them in a crash only forgives.
export const signIn = `
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

// What signing in and checking a token read together, in one place.
export const views = `
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

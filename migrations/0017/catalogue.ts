// backups: one row per backup that is whole in the store. tenant_id is null for a full one, and has no foreign key: the
//   objects of a purged tenant's backups are in the store until the sweep takes them, and so is their row.
// backup_jobs: making, restoring and trying out a backup; one at a time per tenant, and one for all tenants together. A row
//   is swept some months after its end.
// backup_tickets: links that download one backup once, within a minute; hashed; swept hourly.
// archive_keys: what each archive is encrypted with, wrapped by a master key. While a row is there, the data keys and master
//   keys that its archive needs are not destroyed; it dies with its backup.
import { tenantPolicies } from "../policies.ts";

export const catalogue = `
create table backups (
  id text primary key check (id ~ '^bk_[0-9a-f]{32}$'),
  type text not null check (type in ('full', 'tenant')),
  tenant_id integer,
  reason text not null check (reason in ('manual', 'nightly', 'safety')),
  state text not null default 'complete' check (state in ('complete', 'removing')),
  schema_version text not null,
  key_version integer not null,
  size_bytes bigint not null,
  rows bigint not null,
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  created_by integer,
  created_at timestamptz(3) not null,
  verified_at timestamptz(3) not null,
  tested_at timestamptz(3),
  test_passed boolean,
  check ((type = 'full') = (tenant_id is null)),
  check ((tested_at is null) = (test_passed is null))
);
create index backups_by_time on backups (tenant_id, created_at desc, id);

create table backup_jobs (
  id uuid primary key,
  kind text not null check (kind in ('backup', 'restore', 'test')),
  type text not null check (type in ('full', 'tenant')),
  tenant_id integer,
  backup_id text not null check (backup_id ~ '^bk_[0-9a-f]{32}$'),
  reason text not null check (reason in ('manual', 'nightly', 'safety')),
  status text not null default 'queued' check (status in ('queued', 'running', 'verifying', 'succeeded', 'failed')),
  step text not null default 'waiting',
  percent integer not null default 0 check (percent between 0 and 100),
  rows_done bigint not null default 0,
  bytes_done bigint not null default 0,
  error_code text,
  error text,
  -- What a restore keeps of the present before it changes anything.
  safety_backup_id text check (safety_backup_id ~ '^bk_[0-9a-f]{32}$'),
  tries integer not null default 0,
  leased_by uuid,
  leased_until timestamptz,
  created_by integer,
  operator text,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  check ((type = 'full') = (tenant_id is null)),
  check ((status in ('succeeded', 'failed')) = (finished_at is not null)),
  check ((status = 'failed') = (error is not null)),
  check ((error is null) = (error_code is null))
);
create unique index backup_jobs_one_at_a_time on backup_jobs (coalesce(tenant_id, 0))
  where status in ('queued', 'running', 'verifying') and kind <> 'test';
create unique index backup_jobs_one_test on backup_jobs (kind)
  where status in ('queued', 'running', 'verifying') and kind = 'test';
create index backup_jobs_backup on backup_jobs (backup_id);
create index backup_jobs_age on backup_jobs (created_at);

create table backup_tickets (
  token_hash bytea primary key check (length(token_hash) = 32),
  tenant_id integer not null,
  session_id uuid not null,
  backup_id text not null,
  expires_at timestamptz(3) not null
);
create index backup_tickets_expiry on backup_tickets (expires_at);

create table archive_keys (
  backup_id text primary key check (backup_id ~ '^bk_[0-9a-f]{32}$'),
  tenant_id integer,
  master_version integer not null references master_keys,
  wrapped bytea not null,
  created_at timestamptz(3) not null default now(),
  -- From then on no later key can be in the archive; null while it is being written.
  closed_at timestamptz(3)
);
create index archive_keys_master on archive_keys (master_version);

${tenantPolicies(["backups", "backup_jobs", "backup_tickets", "archive_keys"])}
grant select on backups, backup_jobs to records_app;
grant select, insert, update, delete on backups, backup_jobs, backup_tickets, archive_keys to records_platform;
`;

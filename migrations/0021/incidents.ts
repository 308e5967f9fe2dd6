// fixes: a known fault with its remedy, and whether a person has confirmed it. Of the installation, not of a tenant. A
//   deleted one is hidden at once; its row goes when its last incident has gone.
// incidents: one row for each time a fault was met at a target; one that has not ended is the target's only one. tenant_id
//   is null where the fault is no tenant's. A row dies 90 days after its end (self-healing.sweep), or with its tenant.
// incident_steps: what happened to an incident, oldest first; dies with it.
// fault_looks: when each fault was last looked for, where the next look goes on, and what came of it. One row per fault.
import { tenantPolicies } from "../policies.ts";

export const incidents = `
create table fixes (
  id integer generated always as identity primary key,
  code text not null check (code ~ '^[a-z_]{1,60}$'),
  title text not null check (length(title) between 1 and 200),
  problem text not null check (length(problem) between 1 and 2000),
  remedy text check (length(remedy) between 1 and 2000),
  risk text not null check (risk in ('low', 'medium', 'high')),
  -- Of the texts as the catalogue had them: with another one they were edited.
  seeded_hash bytea not null check (length(seeded_hash) = 32),
  status text not null default 'proposed' check (status in ('proposed', 'confirmed', 'suspended')),
  suspended_reason text check (suspended_reason in ('failures', 'mass')),
  confirmed_by integer,
  confirmed_at timestamptz(3),
  occurrences integer not null default 0,
  healed integer not null default 0,
  failed integer not null default 0,
  last_detected_at timestamptz(3),
  last_healed_at timestamptz(3),
  -- When operators were last told that a person is needed.
  told_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  deleted_at timestamptz(3),
  check ((status = 'suspended') = (suspended_reason is not null)),
  check ((status = 'proposed') = (confirmed_at is null)),
  check (remedy is not null or status = 'proposed')
);
create unique index fixes_code on fixes (code) where deleted_at is null;

create table incidents (
  id bigint generated always as identity primary key,
  fix_id integer not null references fixes,
  tenant_id integer references tenants on delete cascade,
  code text not null,
  -- Whose detector found it, and whose remedy mends it.
  service text not null,
  target text not null check (length(target) between 1 and 200),
  status text not null default 'open'
    check (status in ('open', 'healing', 'healed', 'failed', 'ended', 'dismissed')),
  evidence json not null,
  would_do text,
  tries integer not null default 0 check (tries between 0 and 5),
  next_try_at timestamptz not null default now(),
  detected_at timestamptz(3) not null default now(),
  last_seen_at timestamptz(3) not null default now(),
  -- Of the try under way.
  tried_at timestamptz(3),
  -- A failed one ends when its fault is not found any more.
  ended_at timestamptz(3),
  check (octet_length(evidence::text) <= 8000),
  check (ended_at is not null or status in ('open', 'healing', 'failed')),
  check (ended_at is null or status in ('healed', 'failed', 'ended', 'dismissed')),
  check (status <> 'healing' or tried_at is not null)
) with (fillfactor = 80);
create unique index incidents_one on incidents (code, target) where ended_at is null;
create index incidents_live on incidents (fix_id, status, next_try_at) where ended_at is null;
create index incidents_by_target on incidents (code, target, ended_at desc);
create index incidents_by_fix on incidents (fix_id, id);
create index incidents_by_tenant on incidents (tenant_id, id);
create index incidents_ended on incidents (ended_at) where ended_at is not null;

create table incident_steps (
  id bigint generated always as identity primary key,
  incident_id bigint not null references incidents on delete cascade,
  fix_id integer not null,
  tenant_id integer,
  step text not null check (step in ('detected', 'trying', 'healed', 'try_failed', 'failed', 'reopened', 'ended',
    'dismissed')),
  facts json not null default '{}' check (octet_length(facts::text) <= 4000),
  at timestamptz(3) not null default clock_timestamp()
);
create index incident_steps_incident on incident_steps (incident_id, id);
-- For the guard that looks at the last ten tries of a fix.
create index incident_steps_tries on incident_steps (fix_id, id) where step in ('healed', 'try_failed');

create table fault_looks (
  code text primary key check (code ~ '^[a-z_]{1,60}$'),
  looked_at timestamptz(3) not null,
  cursor text check (length(cursor) <= 200),
  found integer not null,
  targets integer,
  duration_ms integer not null,
  -- Services that did not answer.
  silent text[] not null default '{}'
);

${tenantPolicies(["incidents", "incident_steps"])}
grant select on incidents to records_app;
grant select, insert, update, delete on fixes, incidents, fault_looks to records_platform;
grant select, insert, delete on incident_steps to records_platform;
`;

// audit_repeats: refusals that go on. The first of equal ones is an audit entry at once and a row here; what repeats is
//   counted in the row, by all processes, and becomes one entry (`times`) when its time is over. A row with nothing to say
//   dies then; one that was still repeated gets twice the time. There are no more rows than entries a day may have.
// daily_counts: how much of something bounded was taken in a tenant on a day (UTC), the refused share too: a row in which
//   more was taken than the bound is an incident. Swept after 90 days, and gone with its tenant.
import { tenantPolicies } from "../policies.ts";

export const repeats = `
create table audit_repeats (
  tenant_id integer not null references tenants on delete cascade,
  key bytea not null check (length(key) = 32),
  user_id integer,
  action text not null check (action ~ '^[a-z_]+\\.[a-z_]+$'),
  target_type text,
  target_id text,
  outcome text not null check (outcome = 'denied'),
  changes json not null,
  ip text,
  user_agent text,
  request_id text,
  times integer not null default 0,
  first_at timestamptz(3),
  last_at timestamptz(3),
  seconds integer not null check (seconds > 0),
  ends_at timestamptz not null,
  primary key (tenant_id, key),
  check ((times = 0) = (first_at is null) and (times = 0) = (last_at is null))
) with (fillfactor = 70);
create index audit_repeats_end on audit_repeats (ends_at);

create table daily_counts (
  tenant_id integer not null references tenants on delete cascade,
  kind text not null check (kind ~ '^[a-z_]+\\.[a-z_]+$'),
  day date not null,
  taken bigint not null,
  bound bigint not null check (bound > 0),
  -- Since when, and until when, more was asked for than the bound.
  reached_at timestamptz(3),
  last_at timestamptz(3),
  -- When the number that was left out was written into the audit log.
  told_at timestamptz(3),
  primary key (tenant_id, kind, day),
  check ((taken > bound) = (reached_at is not null) and (reached_at is null) = (last_at is null))
) with (fillfactor = 70);
create index daily_counts_day on daily_counts (day);

${tenantPolicies(["audit_repeats", "daily_counts"])}
grant select, insert, update, delete on audit_repeats to records_app, records_platform;
grant select, insert, update on daily_counts to records_app, records_platform;
grant delete on daily_counts to records_platform;
`;

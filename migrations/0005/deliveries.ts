// deliveries: one row per event and target, in one state; with all it takes to say it again in the same words, since the
//   event may be swept before it. Its id is what receivers know it by: random, but growing with time, so that new rows
//   lie together in its index.
// delivery_attempts: what happened each time; only ever added to. No foreign key: it would cost a tenth of a delivery. The
//   sweep takes attempts with their deliveries, and what is left of them by its age.
// Rows of both go 90 days after they were made, in batches, oldest ids first.
import { tenantPolicies } from "../policies.ts";

export const deliveries = `
create function time_ordered_id() returns uuid language sql volatile parallel safe as $$
  -- A version 7 UUID (RFC 9562 5.7): milliseconds, version, random bits.
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
    52, 1), 53, 1), 'hex')::uuid
$$;

create table deliveries (
  id uuid primary key default time_ordered_id(),
  tenant_id integer not null,
  target_id integer not null,
  event_id bigint not null,
  seq bigint not null,
  kind text not null,
  payload json not null,
  occurred_at timestamptz(3) not null,
  state text not null default 'pending' check (state in ('pending', 'succeeded', 'failed', 'canceled')),
  -- Why it is (or was last) under way: the event, a person, or a recovery of many.
  cause text not null default 'scheduled' check (cause in ('scheduled', 'manual', 'recover')),
  attempts integer not null default 0,
  -- Of the present cause: where it stands in the table of retries.
  tries integer not null default 0,
  due_at timestamptz not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  finished_at timestamptz(3),
  check ((state = 'pending') = (finished_at is null)),
  foreign key (tenant_id, target_id) references delivery_targets (tenant_id, id) on delete cascade
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
create unique index deliveries_once on deliveries (tenant_id, target_id, event_id);
create index deliveries_pending on deliveries (tenant_id, target_id, due_at, seq) where state = 'pending';
create index deliveries_failed on deliveries (tenant_id, target_id, event_id) where state in ('failed', 'canceled');

create table delivery_attempts (
  id bigint generated always as identity,
  tenant_id integer not null,
  delivery_id uuid not null,
  cause text not null,
  status_code integer,
  duration_ms integer not null,
  error text,
  response text check (octet_length(response) <= 1024),
  attempted_at timestamptz(3) not null default clock_timestamp(),
  primary key (delivery_id, id)
);

${tenantPolicies(["deliveries", "delivery_attempts"])}
grant select, update (state, cause, tries, due_at, finished_at) on deliveries to records_app;
grant select on delivery_attempts to records_app;
grant select, insert, update, delete on deliveries to records_platform;
grant select, insert, delete on delivery_attempts to records_platform;
`;

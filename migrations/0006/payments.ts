// payment_notifications: the inbox, one row per notification of a provider, so that the same one never acts twice. Swept
//   90 days after it came (services/payments/sweep-notifications.ts says which stay longer). tenant_id has no foreign
//   key: rows of a purged tenant stay, so that a replay finds no new tenant under the old subdomain.
// payments: what a provider told of each payment; dies with its tenant only, as it is what makes late replays harmless.
//   Of each status it keeps when it last occurred: the present status follows from these four, in any order of arrival
//   (services/payments/payment.rules.ts). version counts writes, so that of two made from one reading one is refused.
import { tenantPolicies } from "../policies.ts";

export const payments = `
create table payment_notifications (
  provider text collate "C" not null check (length(provider) between 1 and 20),
  notification_id text collate "C" not null check (length(notification_id) between 1 and 255),
  type text not null check (length(type) between 1 and 100),
  body_hash bytea not null check (length(body_hash) = 32),
  state text not null
    check (state in ('applied', 'stale', 'ignored', 'unverified', 'unknown_tenant', 'inactive_tenant')),
  tenant_id integer,
  payment_id text,
  occurred_at timestamptz(3),
  received_at timestamptz(3) not null default now(),
  primary key (provider, notification_id),
  check (state not in ('applied', 'stale', 'inactive_tenant') or (tenant_id is not null and payment_id is not null)),
  check (state not in ('unverified', 'unknown_tenant', 'ignored') or tenant_id is null)
);
create index payment_notifications_age on payment_notifications (received_at);

create table payments (
  id integer generated always as identity,
  tenant_id integer not null references tenants on delete cascade,
  provider text collate "C" not null check (length(provider) between 1 and 20),
  payment_id text collate "C" not null check (length(payment_id) between 1 and 255),
  status text not null check (status in ('pending', 'succeeded', 'failed', 'refunded')),
  amount text not null check (amount ~ '^[0-9]{1,15}([.][0-9]{1,8})?$'),
  currency text not null check (length(currency) = 3),
  occurred_at timestamptz(3) not null,
  pending_at timestamptz(3),
  failed_at timestamptz(3),
  succeeded_at timestamptz(3),
  refunded_at timestamptz(3),
  newest_at timestamptz(3) not null,
  newest_id text collate "C" not null,
  version integer not null check (version > 0),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (tenant_id, id),
  unique (provider, payment_id, tenant_id),
  check (occurred_at is not distinct from case status when 'pending' then pending_at when 'failed' then failed_at
    when 'succeeded' then succeeded_at else refunded_at end),
  check (newest_at is not distinct from greatest(pending_at, failed_at, succeeded_at, refunded_at))
);
create index payments_occurred on payments (tenant_id, occurred_at, id);

${tenantPolicies(["payment_notifications", "payments"])}

grant select, insert, update, delete on payment_notifications to records_platform;
grant select on payments to records_app;
grant select, insert, update on payments to records_platform;

-- All that is known of a batch of notifications, as they are asked for: row by row through the unique indexes. A plan is
-- made once per connection and kept, and on the first day the tables are empty: so nothing may look as cheap as the right
-- index then. Hence the settings, and a comparison of the tenant that no other index serves.
create function known_to_payments(asked_subdomain text, asked_providers text[], asked_ids text[], asked_payments text[])
  returns table (tenant json, platform_id integer, notifications json, payments json)
  language plpgsql stable set search_path = public set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  return query with named as materialized (
      select t.id, t.is_active as active from tenants t where t.subdomain = asked_subdomain and t.deleted_at is null)
    select (select row_to_json(named) from named),
      (select t.id from tenants t where t.subdomain = 'platform' and t.deleted_at is null),
      (select json_agg(json_build_object('provider', n.provider, 'id', n.notification_id,
          'hash', encode(n.body_hash, 'hex'), 'state', n.state, 'tenant_id', n.tenant_id))
        from unnest(asked_providers, asked_ids) a (provider, id)
        cross join lateral (select * from payment_notifications k
          where k.provider = a.provider and k.notification_id = a.id limit 1) n),
      (select json_agg(row_to_json(p))
        from unnest(asked_providers, asked_payments) a (provider, id)
        cross join lateral (select * from payments k
          where k.provider = a.provider and k.payment_id = a.id
            and k.tenant_id is not distinct from (select id from named) limit 1) p);
end $$;
revoke all on function known_to_payments from public;
grant execute on function known_to_payments to records_platform;

-- Takes back a statement that was decided on what is no longer so; whoever sent it decides anew.
create function payments_raced() returns boolean language plpgsql as $$
begin
  raise exception 'another process was quicker' using errcode = 'RP001';
end $$;
`;

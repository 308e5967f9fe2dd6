// The two statements of the intake. The first reads all that is known of a batch; the second writes all that follows from
// it, or nothing: notifications, payments, events and audit entries are one transaction. Where another process was
// quicker with one of the rows, the second takes itself back and the batch is decided anew.
import type { Statement } from "../shared/database/scope.ts";
import type { PaymentState, Status } from "./payment.rules.ts";

/** The SQLSTATE of payments_raced(). */
export const racedCode = "RP001";

export interface Known {
  /** null: no tenant that lives has this subdomain. */
  tenant: { id: number; active: boolean } | null;
  platform_id: number | null;
  notifications:
    | { provider: string; id: string; hash: string; state: string; tenant_id: number | null }[]
    | null;
  payments: PaymentRow[] | null;
}

export interface PaymentRow {
  provider: string;
  payment_id: string;
  status: Status;
  amount: string;
  currency: string;
  occurred_at: string;
  pending_at: string | null;
  failed_at: string | null;
  succeeded_at: string | null;
  refunded_at: string | null;
  newest_at: string;
  newest_id: string;
  version: number;
}

export function readStatement(
  subdomain: string,
  asked: readonly { provider: string; id: string; paymentId: string | null }[],
): Statement {
  return {
    name: "payments.known",
    text: "select * from known_to_payments($1, $2::text[], $3::text[], $4::text[])",
    values: [
      subdomain,
      asked.map(({ provider }) => provider),
      asked.map(({ id }) => id),
      asked.map(({ paymentId }) => paymentId),
    ],
  };
}

export interface NotificationRow {
  provider: string;
  notification_id: string;
  type: string;
  /** Hex. */
  body_hash: string;
  state: string;
  tenant_id: number | null;
  payment_id: string | null;
  occurred_at: string | null;
}

/** One row of json_to_recordset each; all of one tenant. */
export interface Written {
  notifications: readonly NotificationRow[];
  payments: readonly (PaymentRow & { tenant_id: number })[];
  events: readonly { tenant_id: number; kind: string; payload: string }[];
  entries: readonly object[];
}

const notificationColumns = "provider, notification_id, type, state, tenant_id, payment_id, occurred_at";
const paymentColumns = `tenant_id, provider, payment_id, status, amount, currency, occurred_at, pending_at, failed_at,
  succeeded_at, refunded_at, newest_at, newest_id, version`;
const entryColumns =
  "tenant_id, user_id, action, target_type, target_id, outcome, changes, ip, user_agent, request_id";

export function writeStatement({ notifications, payments, events, entries }: Written): Statement {
  return {
    name: "payments.take",
    text: `with kept as (
        insert into payment_notifications (${notificationColumns}, body_hash)
        select ${notificationColumns}, decode(body_hash, 'hex') from json_to_recordset($1) as n (provider text,
          notification_id text, type text, body_hash text, state text, tenant_id integer, payment_id text,
          occurred_at timestamptz)
        order by provider, notification_id
        on conflict (provider, notification_id) do update set (type, body_hash, state, tenant_id, payment_id,
            occurred_at, received_at) = row (excluded.type, excluded.body_hash, excluded.state, excluded.tenant_id,
            excluded.payment_id, excluded.occurred_at, excluded.received_at)
          where payment_notifications.state = 'unverified' and excluded.state <> 'unverified'
        returning 1),
      changed as (
        insert into payments (${paymentColumns})
        select ${paymentColumns} from json_to_recordset($2) as p (tenant_id integer, provider text, payment_id text,
          status text, amount text, currency text, occurred_at timestamptz, pending_at timestamptz,
          failed_at timestamptz, succeeded_at timestamptz, refunded_at timestamptz, newest_at timestamptz,
          newest_id text, version integer)
        order by provider, payment_id
        on conflict (tenant_id, provider, payment_id) do update set (status, amount, currency, occurred_at, pending_at,
            failed_at, succeeded_at, refunded_at, newest_at, newest_id, version, updated_at)
            = row (excluded.status, excluded.amount, excluded.currency, excluded.occurred_at, excluded.pending_at,
            excluded.failed_at, excluded.succeeded_at, excluded.refunded_at, excluded.newest_at, excluded.newest_id,
            excluded.version, now())
          where payments.version = excluded.version - 1
        returning 1),
      told as (
        insert into events (tenant_id, kind, payload)
        select tenant_id, kind, payload::json from rows from (json_to_recordset($3)
          as (tenant_id integer, kind text, payload text)) with ordinality e (tenant_id, kind, payload, place)
        order by place),
      recorded as (
        insert into audit_entries (${entryColumns})
        select tenant_id, user_id, action, target_type, target_id, outcome, changes::json, ip, user_agent, request_id
        from rows from (json_to_recordset($4) as (tenant_id integer, user_id integer, action text, target_type text,
          target_id text, outcome text, changes text, ip text, user_agent text, request_id text))
          with ordinality a (${entryColumns}, place)
        order by tenant_id, place)
      select case when (select count(*) from kept) < $5 or (select count(*) from changed) < $6
        then payments_raced() end`,
    values: [
      JSON.stringify(notifications),
      JSON.stringify(payments),
      JSON.stringify(events),
      JSON.stringify(entries),
      notifications.length,
      payments.length,
    ],
  };
}

const isoOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
const msOf = (at: string | null) => (at === null ? undefined : Date.parse(at));

export function toState(row: PaymentRow): PaymentState {
  const { status, amount, currency } = row;
  const moments = {
    pending: msOf(row.pending_at),
    failed: msOf(row.failed_at),
    succeeded: msOf(row.succeeded_at),
    refunded: msOf(row.refunded_at),
  };
  return {
    status,
    occurredMs: Date.parse(row.occurred_at),
    amount,
    currency,
    latest: moments,
    newest: { occurredMs: Date.parse(row.newest_at), notificationId: row.newest_id },
  };
}

export function toRow(provider: string, paymentId: string, state: PaymentState, version: number): PaymentRow {
  const { status, amount, currency, latest, newest } = state;
  return {
    provider,
    payment_id: paymentId,
    status,
    amount,
    currency,
    occurred_at: new Date(state.occurredMs).toISOString(),
    pending_at: isoOf(latest.pending),
    failed_at: isoOf(latest.failed),
    succeeded_at: isoOf(latest.succeeded),
    refunded_at: isoOf(latest.refunded),
    newest_at: new Date(newest.occurredMs).toISOString(),
    newest_id: newest.notificationId,
    version,
  };
}

// The two statements of the intake. The first reads everything known about a batch. The second writes
// everything that follows, in one transaction: notifications, payments, events and audit entries. If another
// process was faster with one of the rows, the second rolls back and the batch is decided again.
import type { Statement } from "../shared/database/scope.ts";
import type { PaymentState, Status } from "./payment.rules.ts";

/** The SQLSTATE that payments_raced() raises. */
export const racedCode = "RP001";

/** The result of the first statement. */
export interface KnownState {
  /** Null when no tenant has this subdomain. */
  tenant: { id: number; active: boolean } | null;
  platform_id: number | null;
  notifications:
    | { provider: string; id: string; hash: string; state: string; tenant_id: number | null }[]
    | null;
  payments: PaymentRow[] | null;
}

/** A stored payment. Times are ISO 8601. */
export interface PaymentRow {
  provider: string;
  payment_id: string;
  status: Status;
  amount: string;
  currency: string;
  occurred_at: string;
  pending_at?: string | null | undefined;
  failed_at?: string | null | undefined;
  succeeded_at?: string | null | undefined;
  refunded_at?: string | null | undefined;
  newest_at: string;
  newest_id: string;
  version: number;
}

/** The statement that reads what is known about the batch of one tenant. */
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

/** What is written for one notification. Undefined or null parts are not written. */
export interface Line {
  provider: string;
  notification_id: string;
  state: string;
  type: string;
  /** In hex. */
  body_hash: string;
  tenant_id: number | null;
  payment_id?: string | undefined;
  occurred_at?: string | undefined;
  /** The audit entry's action. Without it no entry is written. */
  action?: string;
  target_type?: string;
  target_id?: string;
  outcome?: "ok";
  /** RFC 8785 JSON: the changes in the audit entry and the payload of the event. */
  facts?: string;
  ip?: string | null;
  user_agent?: string | null;
  request_id?: string;
  /** The event's kind. Without it no event is written. */
  kind?: string;
  /** The `traceparent` of the request, so that the event's deliveries belong to the same trace. */
  trace?: string | undefined;
}

/** Everything to write for a batch. */
export interface BatchWrites {
  lines: readonly Line[];
  /** All payments belong to one tenant. */
  payments: readonly (PaymentRow & { tenant_id: number })[];
}

const lineColumns = `provider, notification_id, state, type, body_hash, tenant_id, payment_id, occurred_at, action,
  target_type, target_id, outcome, facts, ip, user_agent, request_id, kind, trace`;
const lineTypes = lineColumns
  .split(/,\s*/)
  .map((name) => `${name} ${{ tenant_id: "integer", occurred_at: "timestamptz" }[name] ?? "text"}`)
  .join(", ");
const paymentColumns = `tenant_id, provider, payment_id, status, amount, currency, occurred_at, pending_at, failed_at,
  succeeded_at, refunded_at, newest_at, newest_id, version`;

/** The statement that writes the batch. It raises `racedCode` when a row was changed meanwhile. */
export function writeStatement({ lines, payments }: BatchWrites): Statement {
  return {
    name: "payments.take",
    text: `with line as materialized (
        select * from rows from (json_to_recordset($1) as (${lineTypes})) with ordinality l (${lineColumns}, place)),
      kept as (
        insert into payment_notifications
          (provider, notification_id, type, body_hash, state, tenant_id, payment_id, occurred_at)
        select provider, notification_id, type, decode(body_hash, 'hex'), state, tenant_id, payment_id, occurred_at
        from line order by provider, notification_id
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
        insert into events (tenant_id, kind, payload, trace)
        select tenant_id, kind, facts::json, trace from line where kind is not null order by place),
      recorded as (
        insert into audit_entries
          (tenant_id, action, target_type, target_id, outcome, changes, ip, user_agent, request_id)
        select tenant_id, action, target_type, target_id, outcome, facts::json, ip, user_agent, request_id
        from line where action is not null order by tenant_id, place)
      select case when (select count(*) from kept) < $3 or (select count(*) from changed) < $4
        then payments_raced() end`,
    values: [JSON.stringify(lines), JSON.stringify(payments), lines.length, payments.length],
  };
}

const isoOf = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
const msOf = (at: string | null | undefined) => (at == null ? undefined : Date.parse(at));

/** Converts a row to the state of the rules. */
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

/** Converts a state to its row. */
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

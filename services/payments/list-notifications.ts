// The inbox of notifications for superadmins, and one payment with its notifications. Both cover all tenants,
// because most notifications without effect belong to none.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { platform, preparedName } from "../shared/database/scope.ts";
import { NotFound } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import { paymentColumns, toPayment } from "./list-payments.ts";
import type { Payment, PaymentHistory, PaymentNotification, paymentsContract } from "./payments.contract.ts";

type Params = ParamsOf<(typeof paymentsContract)["payments.notifications"]>;

const historyMax = 200;
const columns = `n.provider, n.notification_id, n.type, n.state, n.tenant_id, n.payment_id, n.occurred_at, n.received_at,
  encode(n.body_hash, 'hex') as body_sha256`;

/**
 * The page is joined to the total by a left join, so an empty page still carries the total; its `provider` is
 * null.
 */
type Row = Omit<PaymentNotification, "provider"> & {
  provider: PaymentNotification["provider"] | null;
  total: number;
};

/** One page of the inbox, the latest first. */
export async function listNotifications(call: Call<Params>): Promise<Page<PaymentNotification>> {
  const { page, limit, provider, state } = call.params;
  const { values, bind } = binder();
  const where = ["true"];
  if (typeof provider === "string") where.push(`n.provider = ${bind(provider)}`);
  if (typeof state === "string") where.push(`n.state = ${bind(state)}`);
  const filters = where.join(" and ");
  const text = `select total.total, n.* from
    (select count(*)::integer as total from payment_notifications n where ${filters}) total
    left join lateral (select ${columns} from payment_notifications n where ${filters}
      order by n.received_at desc, n.provider, n.notification_id
      limit ${bind(limit)} offset ${bind(offsetOf(page, limit))}) n on true`;
  const rows = await call.db.read<Row>(platform, { name: preparedName(text), text, values });
  const items = rows.flatMap(({ total: _total, provider: from, ...rest }) =>
    from === null ? [] : [toNotification({ provider: from, ...rest })],
  );
  return toPage(items, rows[0]?.total ?? 0, page, limit);
}

/**
 * One payment with at most `historyMax` of its notifications, in the order of occurrence.
 * @throws NotFound
 */
export async function getPayment(call: Call<{ payment_id: number }>): Promise<PaymentHistory> {
  const payment = await call.db.readOne<Payment>(platform, {
    name: "payments.get",
    text: `select ${paymentColumns} from payments p where p.id = $1
      and p.tenant_id in (select id from tenants where deleted_at is null)`,
    values: [call.params.payment_id],
  });
  if (payment === undefined) throw new NotFound("Payment");
  const notifications = await call.db.read<PaymentNotification>(platform, {
    name: "payments.history",
    text: `select ${columns} from payment_notifications n
      where n.provider = $1 and n.payment_id = $2 and n.tenant_id = $3
      order by n.occurred_at desc, n.received_at desc, n.notification_id limit ${historyMax}`,
    values: [payment.provider, payment.payment_id, payment.tenant_id],
  });
  return { ...toPayment(payment), notifications: notifications.map(toNotification).reverse() };
}

/** @param row with times in PostgreSQL's format */
function toNotification(row: PaymentNotification): PaymentNotification {
  const { provider, notification_id, type, state, tenant_id, payment_id, body_sha256 } = row;
  return {
    provider,
    notification_id,
    type,
    state,
    tenant_id,
    payment_id,
    occurred_at: row.occurred_at === null ? null : toIso(row.occurred_at),
    received_at: toIso(row.received_at),
    body_sha256,
  };
}

// The log of a webhook's deliveries.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { preparedName } from "../shared/database/scope.ts";
import { NotFound } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { deliveriesContract, WireDelivery } from "./deliveries.contract.ts";
import { messageId } from "./message-id.ts";
import { tenantOf } from "./read-webhooks.ts";
import type { Column, RowOf } from "../shared/database/row.ts";

type Params = ParamsOf<(typeof deliveriesContract)["webhooks.deliveries"]>;

export const deliveryColumns = `d.id, d.target_id as webhook_id, d.event_id::float8, d.seq::float8, d.kind, d.payload as data, d.state, d.cause,
  d.attempts, d.created_at, d.due_at::timestamptz(3) as next_attempt_at, d.finished_at, last.attempted_at, last.status_code,
  last.duration_ms, last.error, last.response`;
export const lastAttempt = `left join lateral (select * from delivery_attempts a where a.delivery_id = d.id
  order by a.id desc limit 1) last on true`;

export type DeliveryRow = Omit<WireDelivery, "last_attempt" | "next_attempt_at"> &
  RowOf<
    "delivery_attempts",
    "status_code" | "duration_ms" | "error" | "response",
    { next_attempt_at: string; attempted_at: Column<"delivery_attempts", "attempted_at"> | null }
  >;

/** One page of the log. @throws NotFound */
export async function listDeliveries(call: Call<Params>): Promise<Page<WireDelivery>> {
  const { webhook_id: id, page, limit, sort_order: order, state, kind } = call.params;
  const tenantId = tenantOf(call);
  const offset = offsetOf(page, limit);
  const { values, bind } = binder();
  const [tenant, target] = [bind(tenantId), bind(id)];
  const where = [`d.tenant_id = ${tenant}`, `d.target_id = ${target}`];
  if (typeof state === "string") where.push(`d.state = ${bind(state)}`);
  if (typeof kind === "string") where.push(`d.kind = ${bind(kind)}`);
  const filters = where.join(" and ");
  const text = `select total.total, p.* from
      (select (select count(*)::integer from deliveries d where ${filters}) as total
        from delivery_targets t where t.tenant_id = ${tenant} and t.id = ${target} and t.channel = 'webhook' and t.deleted_at is null) total
    left join lateral (select ${deliveryColumns} from deliveries d ${lastAttempt} where ${filters}
      order by d.event_id ${order} limit ${bind(limit)} offset ${bind(offset)}) p on true
    order by p.event_id ${order}`;
  const rows = await call.db.read<DeliveryRow & { total: number; id: Column<"deliveries", "id"> | null }>(
    { tenantId },
    { name: preparedName(text), text, values },
  );
  const [first] = rows;
  if (first === undefined) throw new NotFound("Webhook");
  const items = rows.flatMap((row) => (row.id === null ? [] : [toDelivery(row)]));
  return toPage(items, first.total, page, limit);
}

/** Converts a row to its JSON form. */
export function toDelivery(row: DeliveryRow): WireDelivery {
  return {
    id: messageId(row.id),
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    seq: row.seq,
    kind: row.kind,
    data: row.data,
    state: row.state,
    cause: row.cause,
    attempts: row.attempts,
    created_at: toIso(row.created_at),
    next_attempt_at: row.state === "pending" ? toIso(row.next_attempt_at) : null,
    finished_at: row.finished_at === null ? null : toIso(row.finished_at),
    last_attempt:
      row.attempted_at === null
        ? null
        : {
            attempted_at: toIso(row.attempted_at),
            status_code: row.status_code,
            duration_ms: row.duration_ms,
            error: row.error,
            response: row.response,
          },
  };
}

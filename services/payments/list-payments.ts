// The list of payments of one tenant, or of all tenants for a superadmin.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { preparedName, type Scope, type Statement } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { isGone, listScope } from "../shared/administered-scope.ts";
import { offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { Payment, paymentsContract } from "./payments.contract.ts";
import type { Column } from "../shared/database/row.ts";

type Params = ParamsOf<(typeof paymentsContract)["payments.list"]>;

export const paymentColumns = `p.id, p.tenant_id, p.provider, p.payment_id, p.status, p.amount, p.currency, p.occurred_at, p.created_at,
  p.updated_at`;

/**
 * The page is joined to the total by a left join, so an empty page still carries the total; its `id` is null.
 */
type Row = Omit<Payment, "id"> & { id: Column<"payments", "id"> | null; total: number };

/** One page of the payments in the caller's scope, with the exact total. */
export async function listPayments(call: Call<Params>): Promise<Page<Payment>> {
  const { page, limit } = call.params;
  const scope = listScope(call.caller, call.params.tenant_id);
  const statement = listStatement(scope, call.params, offsetOf(page, limit));
  if (await isGone(call.db, call.caller, scope)) return toPage([], 0, page, limit);
  const rows = await call.db.read<Row>(scope, statement);
  const items = rows.flatMap(({ total: _total, id, ...facts }) =>
    id === null ? [] : [toPayment({ id, ...facts })],
  );
  return toPage(items, rows[0]?.total ?? 0, page, limit);
}

/** Converts a row to its JSON form. @param row with times in PostgreSQL's format */
export function toPayment({ occurred_at, created_at, updated_at, ...facts }: Payment): Payment {
  return {
    ...facts,
    occurred_at: toIso(occurred_at),
    created_at: toIso(created_at),
    updated_at: toIso(updated_at),
  };
}

function listStatement(scope: Scope, params: Params, offset: number): Statement {
  const { values, bind } = binder();
  const where = [
    scope === "platform"
      ? "p.tenant_id in (select id from tenants where deleted_at is null)"
      : `p.tenant_id = ${bind(scope.tenantId)}`,
  ];
  if (typeof params.provider === "string") where.push(`p.provider = ${bind(params.provider)}`);
  if (typeof params.status === "string") where.push(`p.status = ${bind(params.status)}`);
  const filters = where.join(" and ");
  const order = params.sort_order === "desc" ? "desc" : "asc";
  const sort = params.sort_by === "id" ? "" : `p.occurred_at ${order}, `;
  const text = `select total.total, p.* from (select count(*)::integer as total from payments p where ${filters}) total
    left join lateral (select ${paymentColumns} from payments p where ${filters}
      order by ${sort}p.id ${order} limit ${bind(params.limit)} offset ${bind(offset)}) p on true`;
  return { name: preparedName(text), text, values };
}

// The list of audit entries. Without filters a tenant's total is its last number, because numbers have no
// gaps.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { preparedName, type Scope, type Statement } from "../shared/database/scope.ts";
import { Invalid } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import type { Moment } from "../shared/params/rules.ts";
import { listScope } from "../shared/administered-scope.ts";
import { offsetOf, type Page, toPage } from "../shared/wire.ts";
import type { AuditEntry, auditContract } from "./audit.contract.ts";
import { type AuditRow, auditColumns, toAuditEntry } from "./audit-row.ts";

type Params = ParamsOf<(typeof auditContract)["audit.list"]>;

type Row = (AuditRow | { id: null }) & { total: string };

/** One page of the entries in the caller's scope, with the exact total. @throws Invalid */
export async function listAudit(call: Call<Params>): Promise<Page<AuditEntry>> {
  const { page, limit, from_date: from, to_date: to } = call.params;
  if (from && to && from.at > endOf(to)) {
    const msg = "Value error, from_date must not be after to_date";
    throw new Invalid([{ loc: ["query", "from_date"], msg, type: "value_error" }]);
  }
  const scope = listScope(call.caller, call.params.tenant_id);
  const rows = await call.db.read<Row>(scope, listStatement(scope, call.params, offsetOf(page, limit)));
  const items = rows.flatMap(({ total: _total, ...row }) => (row.id === null ? [] : [toAuditEntry(row)]));
  return toPage(items, Number(rows[0]?.total ?? 0), page, limit);
}

/** A bare date as the end includes its day. */
function endOf(moment: Moment): string {
  if (!moment.dateOnly) return moment.at;
  return new Date(Date.parse(moment.at) + 86_400_000 - 1).toISOString();
}

function listStatement(scope: Scope, params: Params, offset: number): Statement {
  const { values, bind } = binder();
  const where: string[] = [];
  const { action, user_id: userId, from_date: from, to_date: to } = params;
  if (action?.endsWith(".*"))
    where.push(`action like ${bind(`${action.slice(0, -1).replaceAll("_", "\\_")}%`)}`);
  else if (action) where.push(`action = ${bind(action)}`);
  if (typeof userId === "number") where.push(`user_id = ${bind(userId)}`);
  if (from) where.push(`created_at >= ${bind(from.at)}::timestamptz`);
  if (to) where.push(`created_at <= ${bind(endOf(to))}::timestamptz`);
  const unfiltered = where.length === 0;
  if (scope !== "platform") where.unshift(`tenant_id = ${bind(scope.tenantId)}`);
  const filters = where.length === 0 ? "true" : where.join(" and ");
  const total = unfiltered
    ? `select coalesce(sum(seq), 0) as total from audit_heads where ${scope === "platform" ? "true" : filters}`
    : `select count(*) as total from audit_entries where ${filters}`;
  const order = params.sort_order === "desc" ? "desc" : "asc";
  const sort = params.sort_by === "id" ? "" : `${params.sort_by} ${order}, `;
  const text = `select total.total, p.* from (${total}) total left join lateral (
      select ${auditColumns} from audit_entries where ${filters}
      order by ${sort}id ${order} limit ${bind(params.limit)} offset ${bind(offset)}) p on true`;
  return { name: preparedName(text), text, values };
}

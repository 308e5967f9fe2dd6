// The list of users. The total is exact and cheap: without a search it is the sum of a few counters that triggers
// keep, with one it is the size of what the trigram index found.
import type { Call } from "../shared/bus.ts";
import { preparedName, type Scope, type Statement } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { listScope } from "../shared/reach.ts";
import { likePattern, offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { User, usersContract, userSorts } from "./users.contract.ts";

type Params = ParamsOf<(typeof usersContract)["users.list"]>;

const sortColumns: Record<(typeof userSorts)[number], string> = {
  id: "u.id",
  email: "lower(u.email)",
  full_name: "lower(u.full_name)",
  role: "u.role",
  is_active: "u.is_active",
  created_at: "u.created_at",
};

const columns = `u.id, u.email, u.full_name, u.role, u.tenant_id, u.department_id, u.can_see_all_patients, u.is_active,
  u.email_verified, u.created_at`;

/** The page hangs on the total by a left join, so an empty page still brings it: then `id` is null. */
type Row = Omit<User, "id"> & { id: number | null; total: number };

export async function listUsers(call: Call<Params>): Promise<Page<User>> {
  const { page, limit } = call.params;
  const scope = listScope(call.caller, call.params.tenant_id);
  const rows = await call.db.read<Row>(scope, listStatement(scope, call.params, offsetOf(page, limit)));
  const items = rows.flatMap(({ total: _total, id, ...user }) =>
    id === null ? [] : [{ id, ...user, created_at: toIso(user.created_at) }],
  );
  return toPage(items, rows[0]?.total ?? 0, page, limit);
}

export function listStatement(scope: Scope, params: Params, offset: number): Statement {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const everyTenant = scope === "platform";
  const where = [
    everyTenant
      ? "u.tenant_id in (select id from tenants where deleted_at is null)"
      : `u.tenant_id = ${bind(scope.tenantId)}`,
  ];
  if (typeof params.role === "string") where.push(`u.role = ${bind(params.role)}`);
  if (typeof params.is_active === "boolean") where.push(`u.is_active = ${bind(params.is_active)}`);
  const search = params.search ?? "";
  const filters = where.join(" and ");
  const order = params.sort_order === "desc" ? "desc" : "asc";
  const sort = sortColumns[params.sort_by];
  const ordered = `order by ${sort} ${order}${sort === "u.id" ? "" : `, u.id ${order}`}`;
  const window = `limit ${bind(params.limit)} offset ${bind(offset)}`;
  if (search === "") {
    const text = `select total.total, p.* from
      (select coalesce(sum(users), 0)::integer as total from user_counts u where ${filters}) total
      left join lateral (select ${columns} from users u where ${filters} and u.deleted_at is null
        ${ordered} ${window}) p on true`;
    return { name: preparedName(text), text, values };
  }
  const term = bind(likePattern(search));
  const found = everyTenant
    ? `u.search_text like lower(${term})`
    : `u.id in (select search_user_ids(lower(${term})))`;
  const text = `with hits as materialized (
      select ${columns} from users u where ${filters} and u.deleted_at is null and ${found})
    select total.total, p.* from (select count(*)::integer as total from hits) total
    left join lateral (select * from hits u ${ordered} ${window}) p on true`;
  return { text, values };
}

// The list of users. The total is exact and cheap: without a search it is the sum of a few counters that
// triggers maintain, with a search it is the number of hits.
import type { Call } from "../shared/bus/bus.ts";
import { binder } from "../shared/database/binder.ts";
import { preparedName, type Scope, type Statement } from "../shared/database/scope.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { isGone, listScope } from "../shared/administered-scope.ts";
import { likePattern, offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { User, usersContract, userSorts } from "./users.contract.ts";

type Params = ParamsOf<(typeof usersContract)["users.list"]>;

const sortColumns: Record<Exclude<(typeof userSorts)[number], "id">, string> = {
  email: "lower(u.email)",
  full_name: "lower(u.full_name)",
  role: "u.role",
  is_active: "u.is_active",
  created_at: "u.created_at",
};

const columns = `u.id, u.email, u.full_name, u.role, u.tenant_id, u.department_id, u.can_see_all_patients, u.is_active,
  u.email_verified, u.created_at`;

/**
 * The page is joined to the total by a left join, so an empty page still carries the total; its `id` is null.
 */
type Row = Omit<User, "id"> & { id: number | null; total: number };

/** One page of the users in the caller's scope, with the exact total. */
export async function listUsers(call: Call<Params>): Promise<Page<User>> {
  const { page, limit } = call.params;
  const scope = listScope(call.caller, call.params.tenant_id);
  const statement = listStatement(scope, call.params, offsetOf(page, limit));
  if (await isGone(call.db, call.caller, scope)) return toPage([], 0, page, limit);
  const rows = await call.db.read<Row>(scope, statement);
  const items = rows.flatMap(({ total: _total, id, ...user }) =>
    id === null ? [] : [{ id, ...user, created_at: toIso(user.created_at) }],
  );
  return toPage(items, rows[0]?.total ?? 0, page, limit);
}

/** The statement for one page. Exported for the test that checks its plan. @param offset rows to skip */
export function listStatement(scope: Scope, params: Params, offset: number): Statement {
  const search = params.search ?? "";
  return search !== "" && scope !== "platform"
    ? searchStatement(scope.tenantId, search, params, offset)
    : browseStatement(scope, search, params, offset);
}

/**
 * The search function finds the ids of the page by its indexes. The rows themselves are read under the
 * policies.
 */
function searchStatement(tenantId: number, search: string, params: Params, offset: number): Statement {
  const { role, is_active: isActive, sort_by: sort, sort_order: order, limit } = params;
  return {
    name: "users.search",
    text: `select hit.total, ${columns}
      from search_user_ids(lower($9), lower($2), $3, $4, $5, $6, $7, $8) with ordinality hit (id, total, place)
      left join users u on u.tenant_id = $1 and u.id = hit.id order by hit.place`,
    values: [
      tenantId,
      likePattern(search),
      role ?? null,
      isActive ?? null,
      sort,
      order === "desc",
      limit,
      offset,
      search,
    ],
  };
}

/**
 * Without a search, or a superadmin's search over all tenants, where the policy lets the planner use the
 * index directly.
 */
function browseStatement(scope: Scope, search: string, params: Params, offset: number): Statement {
  const { values, bind } = binder();
  const where = [
    scope === "platform"
      ? "u.tenant_id in (select id from tenants where deleted_at is null)"
      : `u.tenant_id = ${bind(scope.tenantId)}`,
  ];
  if (typeof params.role === "string") where.push(`u.role = ${bind(params.role)}`);
  if (typeof params.is_active === "boolean") where.push(`u.is_active = ${bind(params.is_active)}`);
  const counted = where.join(" and ");
  if (search !== "") where.push(`u.search_text like lower(${bind(likePattern(search))})`);
  const filters = `${where.join(" and ")} and u.deleted_at is null`;
  const total =
    search === ""
      ? `select coalesce(sum(users), 0)::integer as total from user_counts u where ${counted}`
      : `select count(*)::integer as total from users u where ${filters}`;
  const order = params.sort_order === "desc" ? "desc" : "asc";
  // Matches the order of the tenant's indexes (see the migration). Over all tenants the primary key is used.
  const id = scope === "platform" ? "u.id" : "u.id::bigint";
  const sort = params.sort_by === "id" ? "" : `${sortColumns[params.sort_by]} ${order}, `;
  const text = `select total.total, p.* from (${total}) total
    left join lateral (select ${columns} from users u where ${filters}
      order by ${sort}${id} ${order}
      limit ${bind(params.limit)} offset ${bind(offset)}) p on true`;
  return search === "" ? { name: preparedName(text), text, values } : { text, values };
}

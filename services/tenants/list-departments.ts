// Queries for departments. A tenant has tens of departments, rarely hundreds, so a search may scan all of
// them.
import type { Call } from "../shared/bus/bus.ts";
import { preparedName } from "../shared/database/scope.ts";
import { NotFound } from "../shared/errors.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { isGone, listScope } from "../shared/administered-scope.ts";
import { likePattern, offsetOf, type Page, toIso, toPage } from "../shared/wire.ts";
import type { Department, departmentSorts, departmentsContract } from "./departments.contract.ts";
import { platformSubdomain } from "./tenants.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

type Params = ParamsOf<(typeof departmentsContract)["departments.list"]>;

const sortColumns: Record<(typeof departmentSorts)[number], string> = {
  id: "d.id",
  name: "lower(d.name)",
  created_at: "d.created_at",
};
const publicMax = 10_000;

type Row = Omit<Department, "id"> & { id: number | null; total: number };

/** One page of the departments in the caller's scope, with the exact total. */
export async function listDepartments(call: Call<Params>): Promise<Page<Department>> {
  const { page, limit, sort_by: by, sort_order: order, search } = call.params;
  const scope = listScope(call.caller, call.params.tenant_id);
  const pattern = search === undefined || search === null || search === "" ? null : likePattern(search);
  const where = `${
    scope === "platform"
      ? "d.tenant_id in (select id from tenants where deleted_at is null)"
      : "d.tenant_id = $4"
  } and ($3::text is null or lower(d.name) like lower($3))`;
  const text = `select total.total, p.* from (select count(*)::integer as total from departments d where ${where}) total
    left join lateral (select d.id, d.tenant_id, d.name, d.head_doctor_id, d.created_at from departments d
      where ${where} order by ${sortColumns[by]} ${order}, d.id ${order} limit $1 offset $2) p on true`;
  const values = [limit, offsetOf(page, limit), pattern, ...(scope === "platform" ? [] : [scope.tenantId])];
  if (await isGone(call.db, call.caller, scope)) return toPage([], 0, page, limit);
  const rows = await call.db.read<Row>(scope, { name: preparedName(text), text, values });
  const items = rows.flatMap(({ total: _total, id, ...row }) =>
    id === null ? [] : [{ id, ...row, created_at: toIso(row.created_at) }],
  );
  return toPage(items, rows[0]?.total ?? 0, page, limit);
}

/** The departments of a tenant, for the registration form. @throws NotFound */
export async function listPublicDepartments(
  call: Call<{ subdomain: string }>,
): Promise<{ id: number; name: string }[]> {
  const tenant = await call.bus("tenants.find", { subdomain: call.params.subdomain });
  if (tenant === null || tenant.subdomain === platformSubdomain) throw new NotFound("Tenant");
  return call.db.read<RowOf<"departments", "id" | "name">>(
    { tenantId: tenant.id },
    {
      name: "departments.list_public",
      text: `select id, name from departments where tenant_id = $1 order by lower(name), id limit ${publicMax}`,
      values: [tenant.id],
    },
  );
}

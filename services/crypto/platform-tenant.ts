// A rotation concerns all tenants, so it is recorded in the audit log of the platform tenant.
import type { Change } from "../shared/database/change.ts";
import type { RowOf } from "../shared/database/row.ts";

/** The platform tenant's id. */
export async function platformTenantId(change: Change): Promise<number> {
  const [row] = await change.execute<RowOf<"tenants", "id">>(
    "select id from tenants where subdomain = 'platform' and deleted_at is null",
  );
  if (row === undefined) throw new Error("the platform tenant is missing");
  return row.id;
}

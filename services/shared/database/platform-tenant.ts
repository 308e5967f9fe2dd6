// The tenant of the platform itself. What concerns all tenants (rotations, fixes, levels of the log) is in its audit log.
import type { PlainChange } from "./change.ts";
import type { RowOf } from "./row.ts";

/** @param change in the platform's scope */
export async function platformTenantId(change: PlainChange): Promise<number> {
  const { id } = await change.one<RowOf<"tenants", "id">>(
    "select id from tenants where subdomain = 'platform' and deleted_at is null",
  );
  return id;
}

// Whose audit log a rotation is in: it concerns all tenants, so it stands in the platform's.
import type { Change } from "../shared/database/change.ts";

export async function platformTenantId(change: Change): Promise<number> {
  const [row] = await change.execute<{ id: number }>(
    "select id from tenants where subdomain = 'platform' and deleted_at is null",
  );
  if (row === undefined) throw new Error("the platform tenant is missing");
  return row.id;
}

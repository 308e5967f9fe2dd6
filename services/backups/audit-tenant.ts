// The tenant whose audit log and subscribers a job concerns: its own, or the platform tenant for a full
// backup.
import type { PlainChange } from "../shared/database/change.ts";
import type { RowOf } from "../shared/database/row.ts";

/** @returns undefined when the tenant does not exist any more */
export async function auditTenantOf(
  change: PlainChange,
  tenantId: number | null,
): Promise<number | undefined> {
  const [row] = await change.execute<RowOf<"tenants", "id">>(
    `select id from tenants where case when $1::integer is null then subdomain = 'platform' and deleted_at is null
       else id = $1 end`,
    [tenantId],
  );
  return row?.id;
}

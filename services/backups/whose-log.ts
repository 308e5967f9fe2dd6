// In whose audit log, and to whose subscribers, a job is told: its tenant's; of a full backup the platform's.
import type { PlainChange } from "../shared/database/change.ts";
import type { RowOf } from "../shared/database/row.ts";

/** @returns undefined when there is no such tenant any more */
export async function whoseLog(change: PlainChange, tenantId: number | null): Promise<number | undefined> {
  const [row] = await change.execute<RowOf<"tenants", "id">>(
    `select id from tenants where case when $1::integer is null then subdomain = 'platform' and deleted_at is null
       else id = $1 end`,
    [tenantId],
  );
  return row?.id;
}

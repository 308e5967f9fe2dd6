// A restore waits and works for minutes. Whoever wanted it may be blocked, demoted or deleted meanwhile, and must not undo with
// it what was done since, their own deletion above all. So it is asked again at its beginning, and in the transaction that
// exchanges the rows: there whoever comes back is blocked, and so may not have wanted it.
import { JobFailed } from "./job-failed.ts";
import type { Job } from "./job-store.ts";

const text = `select from users u join tenants t on t.id = u.tenant_id
  where u.id = $1 and u.is_active and u.deleted_at is null and t.is_active and t.deleted_at is null
    and (u.role = 'superadmin' or (u.role = 'admin' and u.tenant_id = $2))`;

/** @param query sees the users of all tenants. @throws JobFailed */
export async function assertStillWanted(
  { createdBy, operator, tenantId }: Job,
  query: (text: string, values: unknown[]) => Promise<unknown[]>,
): Promise<void> {
  if (operator !== null) return;
  if ((await query(text, [createdBy, tenantId])).length === 0) throw new JobFailed("not_allowed_any_more");
}

// Checks that the requester may still restore. A restore takes minutes. Meanwhile the requester may be
// blocked, demoted or deleted, and must not revert that by the restore. So it is checked at the beginning and
// again in the transaction that exchanges the rows, where a requester who was deleted is restored as blocked
// and so is refused.
import { JobFailed } from "./job-failed.ts";
import type { Job } from "./job-store.ts";

const text = `select from users u join tenants t on t.id = u.tenant_id
  where u.id = $1 and u.is_active and u.deleted_at is null and t.is_active and t.deleted_at is null
    and (u.role = 'superadmin' or (u.role = 'admin' and u.tenant_id = $2))`;

/** @param query reads the users of all tenants @throws JobFailed `not_allowed_any_more` */
export async function assertRequesterMayRestore(
  { createdBy, operator, tenantId }: Job,
  query: (text: string, values: unknown[]) => Promise<unknown[]>,
): Promise<void> {
  if (operator !== null) return;
  if ((await query(text, [createdBy, tenantId])).length === 0) throw new JobFailed("not_allowed_any_more");
}

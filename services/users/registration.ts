// The origin of a registration, kept until the address is verified. Until somebody verifies the address or an
// administrator acts on the account, another registration of the same address replaces this one.
import type { Change } from "../shared/database/change.ts";
import type { Database } from "../shared/database/database.ts";
import { platform } from "../shared/database/scope.ts";
import { addressKey } from "../shared/rate-limits.ts";
import type { RowOf } from "../shared/database/row.ts";

/** Stores the origin. @param ip the client's address, which the verification mail names */
export async function recordRegistration(
  change: Change,
  tenantId: number,
  userId: number,
  ip: string | null,
): Promise<void> {
  await change.execute("insert into registrations (tenant_id, user_id, ip) values ($1, $2, $3)", [
    tenantId,
    userId,
    ip,
  ]);
}

/** Deletes the origin: the registration is completed or replaced. */
export async function endRegistration(change: Change, tenantId: number, userId: number): Promise<void> {
  await change.execute("delete from registrations where tenant_id = $1 and user_id = $2", [tenantId, userId]);
}

/**
 * Marks the registration as settled, because an administrator has acted on this account. It can no longer be
 * replaced.
 */
export async function settleRegistration(change: Change, tenantId: number, userId: number): Promise<void> {
  await change.execute(
    "update registrations set settled = true where tenant_id = $1 and user_id = $2 and not settled",
    [tenantId, userId],
  );
}

/**
 * Deletes the account whose address is still unverified, with its tokens. The new account gets its own id, so
 * an administrator who looked at the old one cannot approve the new one by mistake. Locks the address until
 * the transaction ends.
 * @returns the id of the deleted account, or undefined when there was none to replace
 */
export async function removeUnverified(
  change: Change,
  tenantId: number,
  email: string,
): Promise<number | undefined> {
  // Serialises concurrent registrations of one address: each replaces the one before. Without the lock they
  // would violate the unique index.
  await change.execute("select pg_advisory_xact_lock($1, hashtext('register ' || lower($2)))", [
    tenantId,
    email,
  ]);
  const [old] = await change.execute<RowOf<"users", "id">>(
    // Blocking and role changes raise the epoch; an approval only sets `settled`.
    `select u.id from users u left join registrations r on r.tenant_id = u.tenant_id and r.user_id = u.id
     where u.tenant_id = $1 and lower(u.email) = lower($2) and u.deleted_at is null and not u.email_verified
       and u.session_epoch = 0 and r.settled is not true for update of u`,
    [tenantId, email],
  );
  if (old === undefined) return undefined;
  await change.execute(
    `update users set deleted_at = now(), updated_at = now(), session_epoch = session_epoch + 1
     where tenant_id = $1 and id = $2`,
    [tenantId, old.id],
  );
  await endRegistration(change, tenantId, old.id);
  change.audit({ tenantId, action: "user.replace", target: { type: "user", id: old.id } });
  change.publishEvent({ tenantId, kind: "user.deleted", payload: { user_id: old.id } });
  return old.id;
}

/** Whether `ip` is the origin of the pending registration of this address. */
export async function isOriginOfRegistration(
  database: Database,
  { subdomain, email }: { subdomain: string; email: string },
  ip: string | null,
): Promise<boolean> {
  const row = await database.readOne<RowOf<"registrations", "ip">>(platform, {
    name: "accounts.registered_from",
    text: `select r.ip from registrations r join users u on u.tenant_id = r.tenant_id and u.id = r.user_id
      join tenants t on t.id = u.tenant_id
      where t.subdomain = lower($1) and t.deleted_at is null and lower(u.email) = lower($2) and u.deleted_at is null`,
    values: [subdomain, email],
  });
  return row !== undefined && isSameOrigin(row.ip, ip);
}

/** Whether both addresses belong to one client. An unknown address matches none. */
export function isSameOrigin(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && addressKey(one) === addressKey(other);
}

// Blocking, roles, deletion and restoring of users. Each change locks the tenant's row first, so that two
// administrators who act on each other at the same time are serialised and one of them always remains.
import { LockMode } from "@mikro-orm/core";
import { roleOf } from "../shared/access.ts";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { changedAt } from "../shared/database/clock.ts";
import { platform } from "../shared/database/scope.ts";
import { Conflict, Forbidden, NotFound } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import { ownTenant, administeredScope } from "../shared/administered-scope.ts";
import { isHigher, type Role } from "../shared/roles.ts";
import { userViolations } from "./create-user.ts";
import { settleRegistration } from "./registration.ts";
import { toUser, UserEntity, type UserRow } from "./user.entity.ts";
import type { User } from "./users.contract.ts";
import {
  type Actor,
  assertMayGrant,
  assertMayWithdraw,
  assertRoleFitsTenant,
  type Target,
} from "./users.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

type OfUser = Call<{ user_id: number }>;

function actorOf(call: OfUser): Actor {
  const { principal } = call.caller;
  const role = roleOf(call.caller);
  if (role === undefined) throw new Forbidden();
  return { userId: principal.kind === "user" ? principal.userId : undefined, role };
}

interface LockedUser {
  user: UserRow;
  isPlatform: boolean;
  target: Target;
}

/**
 * Finds the user within the caller's scope. Locks the tenant's row and the user's row until the transaction
 * ends.
 * @throws NotFound
 */
async function lockUser(call: OfUser, change: Change): Promise<LockedUser> {
  const id = call.params.user_id;
  const [tenant] = await change.execute<RowOf<"tenants", "id" | "subdomain">>(
    `select t.id, t.subdomain from tenants t where t.deleted_at is null
       and t.id = (select tenant_id from users where id = $1 and deleted_at is null) for no key update`,
    [id],
  );
  if (tenant === undefined) throw new NotFound("User");
  const where = { id, tenantId: tenant.id, deletedAt: null };
  const user = await change.entities.findOne(UserEntity, where, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (user === null) throw new NotFound("User");
  const others = await change.execute<
    RowOf<"users", "role", { role: "superadmin" | "admin"; users: number }>
  >(
    `select role, count(*)::integer as users from users where tenant_id = $1 and id <> $2 and is_active
       and deleted_at is null and role in ('superadmin', 'admin') group by role`,
    [tenant.id, id],
  );
  const otherActive = { superadmin: 0, admin: 0 };
  for (const { role, users } of others) otherActive[role] = users;
  const target = { id, role: user.role, isActive: user.isActive, otherActive };
  return { user, isPlatform: tenant.subdomain === "platform", target };
}

const targetOf = (user: UserRow) => ({ type: "user", id: user.id });
const now = () => new Date();

/**
 * Blocks or unblocks a user; the first unblocking approves a pending user. Blocking ends every session of the
 * user.
 * @throws NotFound, Forbidden `role_too_high`, Conflict `own_account`, `last_admin` or `last_superadmin`
 */
export async function setBlocked(call: OfUser, blocked: boolean): Promise<User> {
  const actor = actorOf(call);
  const user = await call.db.change(administeredScope(call.caller), call.caller, async (change) => {
    const held = await lockUser(call, change);
    const wasPending = held.user.approvedAt === null;
    if (blocked) assertMayWithdraw(actor, held.target, "block");
    else if (isHigher(held.user.role, actor.role))
      throw new Forbidden("role_too_high", "This role is above yours");
    if (held.user.isActive === !blocked) return held.user;
    setActive(held.user, blocked);
    const verb = blocked ? "block" : "unblock";
    const { tenantId } = held.user;
    await settleRegistration(change, tenantId, held.user.id);
    change.audit({
      tenantId,
      action: `user.${verb}`,
      target: targetOf(held.user),
      changes: { was_pending: wasPending },
    });
    change.publishEvent({ tenantId, kind: `user.${verb}ed`, payload: { user_id: held.user.id } });
    if (!blocked && wasPending) await change.enqueue("mail.account_approved", { user_id: held.user.id });
    return held.user;
  });
  if (blocked) hintSessionsEnded(call, user);
  else await call.bus("auth.clear_lockout", { tenant_id: user.tenantId, user_id: user.id });
  return toUser(user);
}

function setActive(user: UserRow, blocked: boolean): void {
  user.isActive = !blocked;
  user.updatedAt = now();
  if (blocked) user.sessionEpoch += 1;
  else user.approvedAt ??= now();
}

/**
 * Changes a user's role and ends every session of the user. A role that may not head a department gives up
 * its headships.
 * @throws NotFound, Invalid, Forbidden `role_too_high`, Conflict `own_account`, `last_admin` or
 * `last_superadmin`
 */
export async function changeRole(call: Call<{ user_id: number; role: Role }>): Promise<User> {
  const actor = actorOf(call);
  const { role } = call.params;
  const user = await call.db.change(administeredScope(call.caller), call.caller, async (change) => {
    const held = await lockUser(call, change);
    const before = held.user.role;
    assertMayGrant(actor, role);
    assertRoleFitsTenant(role, held.isPlatform);
    if (role === before) return held.user;
    assertMayWithdraw(actor, held.target, "demote");
    held.user.role = role;
    held.user.sessionEpoch += 1;
    held.user.updatedAt = now();
    if (!mayHeadDepartment(role)) await leaveHeadship(change, held.user);
    const { tenantId } = held.user;
    await settleRegistration(change, tenantId, held.user.id);
    change.audit({
      tenantId,
      action: "user.set_role",
      target: targetOf(held.user),
      changes: { from: before, to: role },
    });
    change.publishEvent({
      tenantId,
      kind: "user.role_changed",
      payload: { user_id: held.user.id, from: before, to: role },
    });
    return held.user;
  });
  hintSessionsEnded(call, user);
  return toUser(user);
}

function hintSessionsEnded(call: OfUser, user: UserRow): void {
  call.hint("users.sessions_ended", { tenant_id: user.tenantId, user_id: user.id });
}

const mayHeadDepartment = (role: Role) => role === "head_doctor" || role === "doctor";

async function leaveHeadship(change: Change, user: UserRow): Promise<void> {
  await change.execute(
    "update departments set head_doctor_id = null, updated_at = now() where tenant_id = $1 and head_doctor_id = $2",
    [user.tenantId, user.id],
  );
}

/**
 * Marks a user as deleted and ends every session. The row is purged after the retention.
 * @throws NotFound, Forbidden `role_too_high`, Conflict `own_account`, `last_admin` or `last_superadmin`
 */
export async function removeUser(call: OfUser): Promise<void> {
  const actor = actorOf(call);
  const user = await call.db.change(administeredScope(call.caller), call.caller, async (change) => {
    const held = await lockUser(call, change);
    assertMayWithdraw(actor, held.target, "delete");
    held.user.deletedAt = await changedAt(change);
    held.user.sessionEpoch += 1;
    await leaveHeadship(change, held.user);
    const { tenantId, id } = held.user;
    change.audit({ tenantId, action: "user.delete", target: targetOf(held.user) });
    change.publishEvent({ tenantId, kind: "user.deleted", payload: { user_id: id } });
    return held.user;
  });
  hintSessionsEnded(call, user);
}

/**
 * Restores a deleted user, blocked or active as before and without a session. Only operators can call it:
 * there is no route.
 * @throws Forbidden, NotFound, Conflict `not_deleted` or `email_taken`
 */
export async function restoreUser(call: OfUser): Promise<User> {
  if (ownTenant(call.caller) !== undefined) throw new Forbidden();
  const restore = call.db.change(platform, call.caller, async (change) => {
    const user = await change.entities.findOne(
      UserEntity,
      { id: call.params.user_id },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (user === null) throw new NotFound("User");
    if (user.deletedAt === null) throw new Conflict("not_deleted", "This user is not deleted");
    user.deletedAt = null;
    user.updatedAt = now();
    change.audit({ tenantId: user.tenantId, action: "user.restore", target: targetOf(user) });
    change.publishEvent({
      tenantId: user.tenantId,
      kind: "user.updated",
      payload: { user_id: user.id, restored: true },
    });
    return user;
  });
  return toUser(await mapViolations(userViolations, restore));
}

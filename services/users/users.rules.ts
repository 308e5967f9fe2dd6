// Pure decisions: who may do what to which user.
import { Conflict, Forbidden, Invalid } from "../shared/errors.ts";
import { isHigher, type Role } from "../shared/roles.ts";

export interface Actor {
  /** Undefined for an operator or the system, which have no account of their own. */
  userId: number | undefined;
  role: Role;
}

export interface Target {
  id: number;
  role: Role;
  isActive: boolean;
  /** Number of other active users of the target's tenant, by role. */
  otherActive: { superadmin: number; admin: number };
}

/** @throws Forbidden `role_too_high`: nobody grants a role above their own */
export function assertMayGrant(actor: Actor, role: Role): void {
  if (isHigher(role, actor.role)) {
    throw new Forbidden("role_too_high", "Nobody grants a role above their own");
  }
}

/** Superadmins belong to the platform tenant only. @throws Invalid */
export function assertRoleFitsTenant(role: Role, isPlatform: boolean): void {
  if (role === "superadmin" && !isPlatform) {
    throw Invalid.body("role", "superadmins belong to the platform tenant");
  }
}

/**
 * Refuses to block, delete or demote a user of a higher role, oneself, or the last one who could undo it.
 * @throws Forbidden `role_too_high`, Conflict `own_account`, `last_superadmin` or `last_admin`
 */
export function assertMayWithdraw(actor: Actor, target: Target, verb: "block" | "delete" | "demote"): void {
  if (isHigher(target.role, actor.role)) {
    throw new Forbidden("role_too_high", `Nobody may ${verb} a user of a role above their own`);
  }
  if (actor.userId === target.id) {
    throw new Conflict("own_account", `Nobody may ${verb} themselves`);
  }
  if (!target.isActive) return;
  if (target.role === "superadmin" && target.otherActive.superadmin === 0) {
    throw new Conflict("last_superadmin", "This is the last active superadmin");
  }
  if (target.role === "admin" && target.otherActive.admin === 0) {
    throw new Conflict("last_admin", "This is the last active administrator of the tenant");
  }
}

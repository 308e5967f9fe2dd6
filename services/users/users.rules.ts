// Pure decisions about who may do what to whom.
import { Conflict, Forbidden, Invalid } from "../shared/errors.ts";
import { isHigher, type Role } from "../shared/roles.ts";

export interface Actor {
  /** undefined: an operator or the system, who is nobody's "self". */
  userId: number | undefined;
  role: Role;
}

export interface Target {
  id: number;
  role: Role;
  isActive: boolean;
  /** Other active users of the target's tenant by role. */
  otherActive: { superadmin: number; admin: number };
}

/** Nobody grants a role above their own. */
export function assertMayGrant(actor: Actor, role: Role): void {
  if (isHigher(role, actor.role)) {
    throw new Forbidden("role_too_high", "Nobody grants a role above their own");
  }
}

/** Superadmins live in the platform tenant and nowhere else. */
export function assertRoleFitsTenant(role: Role, isPlatform: boolean): void {
  if (role === "superadmin" && !isPlatform) {
    throw Invalid.body("role", "superadmins belong to the platform tenant");
  }
}

/** Blocking, deleting, or taking a role away: not upwards, not oneself, not the last one who could undo it. */
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

// Who may call an action. The contract of an action states it once, and this file decides it: at the gateway, so that a refusal
// comes before validation, and on the node that runs the action, so that nobody can bypass the gateway.
import type { Caller } from "./caller.ts";
import { Forbidden, Unauthorized } from "./errors.ts";
import type { Role } from "./roles.ts";

export type Access =
  /** Anyone, also without a token. */
  | { readonly who: "public" }
  /** Any signed-in user. */
  | { readonly who: "signed-in" }
  | { readonly who: "roles"; readonly roles: readonly Role[] }
  /** Only the named services of this deployment, on anyone's behalf. */
  | { readonly who: "services"; readonly services: readonly string[] };

export const anyone: Access = { who: "public" };
export const signedIn: Access = { who: "signed-in" };
/** Users with one of the roles. */
export const allow = (...roles: Role[]): Access => ({ who: "roles", roles });
/** Only calls made by the named services. */
export const onlyServices = (...services: string[]): Access => ({ who: "services", services });

/** @returns the role that counts for access. Operators and the service itself have the rights of a superadmin. */
export function roleOf(caller: Caller): Role | undefined {
  const { principal } = caller;
  if (principal.kind === "user") return principal.role;
  return principal.kind === "anonymous" ? undefined : "superadmin";
}

/** @throws Unauthorized (401) or Forbidden (403) if the caller may not call the action */
export function assertAccess(access: Access | undefined, caller: Caller | undefined): void {
  if (access === undefined || caller === undefined) throw new Forbidden();
  if (access.who === "public") return;
  if (access.who === "services") {
    if (access.services.includes(caller.facts.via)) return;
    throw new Forbidden();
  }
  const role = roleOf(caller);
  if (role === undefined) throw new Unauthorized();
  if (access.who === "roles" && !access.roles.includes(role)) throw new Forbidden();
}

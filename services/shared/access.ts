// Who may call an action, stated once in its contract and decided here, both at the gateway (so that a refusal comes
// before validation) and on the node where the action runs (so that nobody gets round the gateway).
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
export const allow = (...roles: Role[]): Access => ({ who: "roles", roles });
export const onlyServices = (...services: string[]): Access => ({ who: "services", services });

/** Operators and the service's own start-up stand where a superadmin stands. */
export function roleOf(caller: Caller): Role | undefined {
  const { principal } = caller;
  if (principal.kind === "user") return principal.role;
  return principal.kind === "anonymous" ? undefined : "superadmin";
}

/** Returns if the caller may; throws Unauthorized (401) or Forbidden (403) if not. */
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

// How far a caller's administration reaches: a superadmin over all tenants, everyone else over their own.
import { roleOf } from "./access.ts";
import type { Caller } from "./caller.ts";
import { platform, type Scope } from "./database/scope.ts";
import { Forbidden } from "./errors.ts";

/** @returns the caller's tenant, or undefined for operators and the system, who stand above tenants */
export function ownTenant(caller: Caller): number | undefined {
  return caller.principal.kind === "user" ? caller.principal.tenantId : undefined;
}

/** The rows an administrator may act on by id: another tenant's row is not there for them. */
export function reachOf(caller: Caller): Scope {
  if (roleOf(caller) === "superadmin") return platform;
  const tenantId = ownTenant(caller);
  if (tenantId === undefined) throw new Forbidden();
  return { tenantId };
}

/** The scope of a list: the tenant that was asked for, else all that the caller reaches. */
export function listScope(caller: Caller, asked: number | null | undefined): Scope {
  const reach = reachOf(caller);
  return reach === platform && typeof asked === "number" ? { tenantId: asked } : reach;
}

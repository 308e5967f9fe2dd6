// How far a caller's administration reaches: a superadmin over all tenants, everyone else over their own.
import { roleOf } from "./access.ts";
import type { Caller } from "./caller.ts";
import type { Database } from "./database/database.ts";
import { platform, type Scope } from "./database/scope.ts";
import { Forbidden, foreignTenant } from "./errors.ts";

/** @returns the caller's tenant, or undefined for operators and the system, who stand above tenants */
export function ownTenant(caller: Caller): number | undefined {
  return caller.principal.kind === "user" ? caller.principal.tenantId : undefined;
}

/** The rows an administrator may act on by id: another tenant's row is not there for them. */
export function administeredScope(caller: Caller): Scope {
  if (roleOf(caller) === "superadmin") return platform;
  const tenantId = ownTenant(caller);
  if (tenantId === undefined) throw new Forbidden();
  return { tenantId };
}

/** @returns the tenant that an administrator acts in: the one that was named, else the own; undefined for an operator who
 * named none @throws Forbidden when it is beyond the caller's reach */
export function tenantToActIn(caller: Caller, named: number | null | undefined): number | undefined {
  const reach = administeredScope(caller);
  const tenantId = named ?? ownTenant(caller);
  if (reach !== "platform" && reach.tenantId !== tenantId) throw foreignTenant();
  return tenantId;
}

/** The scope of a list: the tenant that was asked for, else all that the caller reaches. */
export function listScope(caller: Caller, asked: number | null | undefined): Scope {
  const reach = administeredScope(caller);
  return reach === platform && typeof asked === "number" ? { tenantId: asked } : reach;
}

/** Whether a superadmin has named a tenant that is deleted or never was: nothing of it is to be seen any more. */
export async function isGone(db: Database, caller: Caller, scope: Scope): Promise<boolean> {
  if (scope === "platform" || scope.tenantId === ownTenant(caller)) return false;
  const text = "select id from tenants where id = $1 and deleted_at is null";
  return (await db.readOne(scope, { name: "tenants.is_gone", text, values: [scope.tenantId] })) === undefined;
}

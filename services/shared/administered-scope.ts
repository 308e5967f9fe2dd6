// Which tenants a caller may administer: superadmins all of them, other users only their own.
import { roleOf } from "./access.ts";
import type { Caller } from "./caller.ts";
import type { Database } from "./database/database.ts";
import { platform, type Scope } from "./database/scope.ts";
import { Forbidden, foreignTenant } from "./errors.ts";

/** @returns the caller's tenant, or undefined for operators and the system, which belong to no tenant */
export function ownTenant(caller: Caller): number | undefined {
  return caller.principal.kind === "user" ? caller.principal.tenantId : undefined;
}

/** @returns the scope in which an administrator may change rows by id. Rows of other tenants look absent. */
export function administeredScope(caller: Caller): Scope {
  if (roleOf(caller) === "superadmin") return platform;
  const tenantId = ownTenant(caller);
  if (tenantId === undefined) throw new Forbidden();
  return { tenantId };
}

/**
 * @returns the tenant in which an administrator acts: the named one, otherwise their own; undefined for an operator who named
 * none
 * @throws Forbidden when the caller may not administer it
 */
export function tenantToActIn(caller: Caller, named: number | null | undefined): number | undefined {
  const reach = administeredScope(caller);
  const tenantId = named ?? ownTenant(caller);
  if (reach !== "platform" && reach.tenantId !== tenantId) throw foreignTenant();
  return tenantId;
}

/** @returns the scope of a list: the requested tenant, otherwise every tenant that the caller may administer */
export function listScope(caller: Caller, asked: number | null | undefined): Scope {
  const reach = administeredScope(caller);
  return reach === platform && typeof asked === "number" ? { tenantId: asked } : reach;
}

/** Whether a superadmin named a tenant that was deleted or never existed: nothing of it is shown. */
export async function isGone(db: Database, caller: Caller, scope: Scope): Promise<boolean> {
  if (scope === "platform" || scope.tenantId === ownTenant(caller)) return false;
  const text = "select id from tenants where id = $1 and deleted_at is null";
  return (await db.readOne(scope, { name: "tenants.is_gone", text, values: [scope.tenantId] })) === undefined;
}

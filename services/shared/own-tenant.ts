// Refuses a tenant that is named by somebody of another one.
import { roleOf } from "./access.ts";
import type { Caller } from "./caller.ts";
import { foreignTenant } from "./errors.ts";
import { wholeNumber } from "./params/read-scalar.ts";

/** A `tenant_id` in query or body that is not the caller's is refused before anything is looked at, unless superadmin. */
export function assertOwnTenant(caller: Caller, params: unknown): void {
  if (typeof params !== "object" || params === null || !Object.hasOwn(params, "tenant_id")) return;
  if (roleOf(caller) === "superadmin" || caller.principal.kind !== "user") return;
  // Read as validation will read it; what is no whole number at all is left to it.
  const named = wholeNumber((params as { tenant_id: unknown }).tenant_id);
  if (named !== undefined && named !== caller.principal.tenantId) throw foreignTenant();
}

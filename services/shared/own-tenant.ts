// Refuses a tenant in the parameters that is not the caller's.
import { roleOf } from "./access.ts";
import type { Caller } from "./caller.ts";
import { foreignTenant } from "./errors.ts";
import { wholeNumber } from "./params/read-scalar.ts";

/** A `tenant_id` in query or body that is not the caller's is refused before validation, except for superadmins. */
export function assertOwnTenant(caller: Caller, params: unknown): void {
  if (typeof params !== "object" || params === null || !Object.hasOwn(params, "tenant_id")) return;
  if (roleOf(caller) === "superadmin" || caller.principal.kind !== "user") return;
  // Parsed in the same way as by validation. Text that is not a whole number is left to validation.
  const named = wholeNumber((params as { tenant_id: unknown }).tenant_id);
  if (named !== undefined && named !== caller.principal.tenantId) throw foreignTenant();
}

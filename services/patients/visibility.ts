// Whose patients a caller sees: their own tenant's, and of those their department's, unless they see all. A superadmin
// is no exception: patients are their clinic's affair.
import type { Call } from "../shared/bus/bus.ts";
import { Forbidden } from "../shared/errors.ts";
import type { Viewer } from "./patients.rules.ts";

export interface Visibility extends Viewer {
  tenantId: number;
  userId: number;
}

/** Operators at the REPL have no tenant, so they see no patient. */
export function visibilityOf(call: Call<unknown>): Visibility {
  const { principal } = call.caller;
  if (principal.kind !== "user") throw new Forbidden();
  const { tenantId, userId, departmentId, canSeeAllPatients } = principal;
  return { tenantId, userId, departmentId, canSeeAllPatients };
}

/**
 * The condition under which a row of `patients p` is seen; live rows only.
 * @param bind takes a value and answers its parameter, "$1"
 */
export function visibleTo(sight: Visibility, bind: (value: unknown) => string): string {
  const own = `p.tenant_id = ${bind(sight.tenantId)} and p.deleted_at is null`;
  // No department is no department: null equals nothing.
  return sight.canSeeAllPatients ? own : `${own} and p.department_id = ${bind(sight.departmentId)}`;
}

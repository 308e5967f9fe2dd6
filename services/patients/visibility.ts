// Which patients a caller may see: those of the own tenant, and only those of the own department unless the
// user sees all. This includes superadmins: patients belong to their clinic.
import type { Call } from "../shared/bus/bus.ts";
import { Forbidden } from "../shared/errors.ts";
import type { Viewer } from "./patients.rules.ts";

/** The caller's rights in the own tenant. */
export interface Visibility extends Viewer {
  tenantId: number;
  userId: number;
}

/** @throws Forbidden for operators at the REPL: they have no tenant, so they see no patients */
export function visibilityOf(call: Call<unknown>): Visibility {
  const { principal } = call.caller;
  if (principal.kind !== "user") throw new Forbidden();
  const { tenantId, userId, departmentId, canSeeAllPatients } = principal;
  return { tenantId, userId, departmentId, canSeeAllPatients };
}

/**
 * SQL condition on `patients p`: the row is not deleted and the caller may see it.
 * @param bind adds a value and returns its placeholder, "$1"
 */
export function visibleTo(visibility: Visibility, bind: (value: unknown) => string): string {
  const own = `p.tenant_id = ${bind(visibility.tenantId)} and p.deleted_at is null`;
  // A user without a department sees none: null equals nothing in SQL.
  return visibility.canSeeAllPatients ? own : `${own} and p.department_id = ${bind(visibility.departmentId)}`;
}

// The profile of the signed-in user. One statement, because every client calls it at start.
import type { Call } from "../shared/bus/bus.ts";
import type { Statement } from "../shared/database/scope.ts";
import { Unauthorized } from "../shared/errors.ts";
import { toIso } from "../shared/wire.ts";
import type { Profile } from "./users.contract.ts";

interface Row extends Omit<Profile, "department"> {
  department_name: string | null;
}

/** The prepared statement that reads one profile. */
export function profileStatement(tenantId: number, userId: number): Statement {
  return {
    name: "users.profile",
    text: `select u.id, u.email, u.full_name, u.role, u.tenant_id, u.department_id, d.name as department_name,
      u.can_see_all_patients, u.is_active, u.email_verified, u.created_at
      from users u left join departments d on d.tenant_id = u.tenant_id and d.id = u.department_id
      where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null`,
    values: [tenantId, userId],
  };
}

/** @throws Unauthorized when the caller is an operator or the user was deleted */
export async function readProfile(call: Call<unknown>): Promise<Profile> {
  const { principal } = call.caller;
  // An operator at the REPL has no profile.
  if (principal.kind !== "user") throw new Unauthorized();
  const { tenantId, userId } = principal;
  const row = await call.db.readOne<Row>({ tenantId }, profileStatement(tenantId, userId));
  if (row === undefined) throw new Unauthorized();
  return toProfile(row);
}

/** Converts a row to its JSON form. */
export function toProfile({ department_name: name, created_at, ...row }: Row): Profile {
  const { id, email, full_name, role, tenant_id, department_id, ...rest } = row;
  const department = department_id === null || name === null ? null : { id: department_id, name };
  return {
    id,
    email,
    full_name,
    role,
    tenant_id,
    department_id,
    department,
    ...rest,
    created_at: toIso(created_at),
  };
}

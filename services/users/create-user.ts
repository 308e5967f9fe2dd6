// Creation of a user, by an administrator or at start.
import type { AuditChanges } from "../shared/audit-changes.ts";
import { roleOf } from "../shared/access.ts";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { Conflict, Forbidden, Invalid } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import { passwordFault } from "../shared/passwords/password-policy.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { tenantToActIn } from "../shared/administered-scope.ts";
import type { Role } from "../shared/roles.ts";
import { toUser, UserEntity, type UserRow } from "./user.entity.ts";
import type { User, usersContract } from "./users.contract.ts";
import { assertMayGrant, assertRoleFitsTenant } from "./users.rules.ts";
import type { RowOf } from "../shared/database/row.ts";

export interface NewUser {
  tenantId: number;
  email: string;
  fullName: string;
  role: Role;
  departmentId: number | null;
  canSeeAllPatients: boolean;
  passwordHash: string;
  /** False: the user is pending and waits for an administrator's approval. */
  approved: boolean;
  emailVerified: boolean;
}

/** The client's error for each constraint of the database that a user can violate. */
export const userViolations = {
  users_email: () => new Conflict("email_taken", "This e-mail address is already in use in this tenant"),
  users_tenant_id_department_id_fkey: () => Invalid.body("department_id", "the department does not exist"),
  users_tenant_id_fkey: () => Invalid.body("tenant_id", "the tenant does not exist"),
};

/** Inserts the user, the audit entry and the event in the caller's transaction. */
export async function insertUser(
  change: Change,
  action: string,
  user: NewUser,
  more: AuditChanges = {},
): Promise<UserRow> {
  const { approved, ...fields } = user;
  const row = change.entities.create(UserEntity, {
    ...fields,
    isActive: approved,
    approvedAt: approved ? new Date() : null,
  });
  await change.entities.flush();
  const target = { type: "user", id: row.id };
  const changes = {
    role: row.role,
    department_id: row.departmentId ?? null,
    can_see_all_patients: row.canSeeAllPatients,
    is_active: row.isActive,
    email_verified: row.emailVerified,
    ...more,
  };
  change.audit({ tenantId: row.tenantId, action, target, changes });
  change.publishEvent({
    tenantId: row.tenantId,
    kind: "user.created",
    payload: { user_id: row.id, role: row.role },
  });
  return row;
}

type TenantFacts = RowOf<"tenants", "id" | "name" | "subdomain">;

/** Finds the tenant of a new user and locks its row for key share, so that it cannot be deleted meanwhile. */
export async function tenantFor(change: Change, tenantId: number): Promise<TenantFacts | undefined> {
  const sql = "select id, name, subdomain from tenants where id = $1 and deleted_at is null for key share";
  return (await change.execute<TenantFacts>(sql, [tenantId]))[0];
}

type Params = ParamsOf<(typeof usersContract)["users.create"]>;

/**
 * Creates an active, verified user in the caller's tenant; an operator names the tenant.
 * @throws Invalid, Forbidden `role_too_high`, Conflict `email_taken`
 */
export async function createUser(call: Call<Params>): Promise<User> {
  const { params, caller } = call;
  const role = roleOf(caller);
  const tenantId = tenantToActIn(caller, params.tenant_id);
  if (role === undefined) throw new Forbidden();
  if (tenantId === undefined) throw Invalid.body("tenant_id", "an operator has to name the tenant");
  assertMayGrant({ userId: undefined, role }, params.role);
  const tenant = await call.db.readOne<TenantFacts>(
    { tenantId },
    {
      text: "select id, name, subdomain from tenants where id = $1 and deleted_at is null",
      values: [tenantId],
    },
  );
  if (tenant === undefined) throw Invalid.body("tenant_id", "the tenant does not exist");
  assertRoleFitsTenant(params.role, tenant.subdomain === "platform");
  assertGoodPassword("password", params.password, { ...params, tenant });
  const passwordHash = await call.runtime.hasher.hash(params.password);
  const insert = call.db.change({ tenantId }, caller, async (change) => {
    if ((await tenantFor(change, tenantId)) === undefined) throw userViolations.users_tenant_id_fkey();
    return insertUser(change, "user.create", vouchedFor(params, tenantId, passwordHash));
  });
  return toUser(await mapViolations(userViolations, insert));
}

/**
 * A user who is approved and verified from the start, because the administrator who typed the address vouches
 * for it.
 */
export function vouchedFor(
  params: Omit<Params, "tenant_id">,
  tenantId: number,
  passwordHash: string,
): NewUser {
  return {
    tenantId,
    email: params.email,
    fullName: params.full_name,
    role: params.role,
    departmentId: params.department_id ?? null,
    canSeeAllPatients: params.can_see_all_patients,
    passwordHash,
    approved: true,
    emailVerified: true,
  };
}

/** @throws Invalid for `field` when the password is too weak or contains the user's or the tenant's names */
export function assertGoodPassword(
  field: string,
  password: string,
  about: { email: string; full_name: string; tenant: { name: string; subdomain: string } },
): void {
  const fault = passwordFault(password, {
    email: about.email,
    fullName: about.full_name,
    subdomain: about.tenant.subdomain,
    tenantName: about.tenant.name,
  });
  if (fault !== undefined) throw Invalid.body(field, fault);
}

// Registering with a tenant.
import type { Call } from "../shared/bus.ts";
import { Forbidden, NotFound, Unavailable } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { registrableRoles } from "../shared/roles.ts";
import type { accountsContract } from "./accounts.contract.ts";
import { limitRegistration } from "./account-limits.ts";
import { assertGoodPassword, insertUser, tenantFor, userViolations } from "./create-user.ts";
import { profileStatement, toProfile } from "./read-profile.ts";
import type { Profile } from "./users.contract.ts";

const platformSubdomain = "platform";

export async function register(
  call: Call<ParamsOf<(typeof accountsContract)["accounts.register"]>>,
): Promise<Profile> {
  const { params } = call;
  await limitRegistration(call);
  const tenant = await call.bus("tenants.find", { subdomain: params.subdomain });
  if (tenant === null || tenant.subdomain === platformSubdomain) throw new NotFound("Tenant");
  if (!registrableRoles.includes(params.role)) {
    await recordRefusal(call, tenant.id, "role_not_registrable");
    throw new Forbidden("role_not_registrable", "This role is given by an administrator");
  }
  if (tenant.registration === "closed") {
    await recordRefusal(call, tenant.id, "registration_closed");
    throw new Forbidden("registration_closed", "Registration is closed");
  }
  assertGoodPassword("password", params.password, { ...params, tenant });
  const passwordHash = await call.runtime.hasher.hash(params.password);
  const scope = { tenantId: tenant.id };
  const insert = call.db.change(scope, call.caller, async (change) => {
    if ((await tenantFor(change, tenant.id)) === undefined) throw new NotFound("Tenant");
    const row = await insertUser(change, "user.register", {
      tenantId: tenant.id,
      email: params.email,
      fullName: params.full_name,
      role: params.role,
      departmentId: params.department_id ?? null,
      canSeeAllPatients: false,
      passwordHash,
      approved: tenant.registration === "open",
      emailVerified: false,
    });
    await change.enqueue("mail.verify_email", { subdomain: tenant.subdomain, email: row.email });
    return row.id;
  });
  const id = await mapViolations(userViolations, insert);
  const row = await call.db.readOne<Parameters<typeof toProfile>[0]>(scope, profileStatement(tenant.id, id));
  if (row === undefined) throw new Unavailable();
  return toProfile(row);
}

/** The gateway records refusals of those who signed in; who registers has not. */
async function recordRefusal(call: Call<unknown>, tenantId: number, code: string): Promise<void> {
  await call.db.change({ tenantId }, call.caller, async (change) => {
    change.audit({ tenantId, action: "user.register", outcome: "denied", changes: { code } });
  });
}

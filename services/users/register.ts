// Registration with a tenant.
import { randomUUID } from "node:crypto";
import type { Call } from "../shared/bus/bus.ts";
import type { Change } from "../shared/database/change.ts";
import { Forbidden, Invalid, NotFound, type ServiceError, Unavailable } from "../shared/errors.ts";
import { mapViolations } from "../shared/failures.ts";
import { auditRefusal } from "../shared/limits/audit-refusal.ts";
import type { ParamsOf } from "../shared/params/types.ts";
import { registrableRoles } from "../shared/roles.ts";
import { type Requester, countTaken, limitRegistration, limitRegistrations } from "./account-limits.ts";
import type { accountsContract } from "./accounts.contract.ts";
import { assertGoodPassword, insertUser, type NewUser, tenantFor, userViolations } from "./create-user.ts";
import { profileStatement, toProfile } from "./read-profile.ts";
import { recordRegistration, removeUnverified } from "./registration.ts";
import type { Profile } from "./users.contract.ts";

const platformSubdomain = "platform";

/**
 * Registers a user who is pending (or active where registration is open) and sends the verification mail.
 * @throws NotFound, Forbidden `role_not_registrable` or `registration_closed`, Invalid, Conflict
 * `email_taken`, TooManyRequests
 */
export async function register(
  call: Call<ParamsOf<(typeof accountsContract)["accounts.register"]>>,
): Promise<Profile> {
  const { params } = call;
  await limitRegistrations(call);
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
  await assertDeliverable(call, params.email);
  const { subdomain } = tenant;
  const asked = await call.bus("auth.recognise", { subdomain, email: params.email });
  await limitRegistration(call, tenant.id, asked);
  const user: NewUser = {
    tenantId: tenant.id,
    email: params.email,
    fullName: params.full_name,
    role: params.role,
    departmentId: params.department_id ?? null,
    canSeeAllPatients: false,
    passwordHash: await call.runtime.hasher.hash(params.password),
    approved: tenant.registration === "open",
    emailVerified: false,
  };
  const scope = { tenantId: tenant.id };
  const insert = call.db.change(scope, call.caller, (change) =>
    insertRegistration(call, change, user, subdomain),
  );
  const id = await mapViolations(userViolations, insert).catch((error: unknown) =>
    refuse(call, user, asked, error),
  );
  const row = await call.db.readOne<Parameters<typeof toProfile>[0]>(scope, profileStatement(tenant.id, id));
  if (row === undefined) throw new Unavailable();
  return toProfile(row);
}

/**
 * Refuses an address that the mail server cannot deliver to. If the mail service cannot answer, the address
 * is accepted.
 */
async function assertDeliverable(call: Call<unknown>, email: string): Promise<void> {
  if (!/\P{ASCII}/u.test(email)) return;
  const { ok } = await call.bus("mail.delivers", { email }).catch(() => ({ ok: true }));
  if (!ok)
    throw Invalid.body("email", "the mail server delivers to names of ASCII letters only before the @-sign");
}

async function insertRegistration(
  call: Call<unknown>,
  change: Change,
  user: NewUser,
  subdomain: string,
): Promise<number> {
  const { tenantId, email } = user;
  if ((await tenantFor(change, tenantId)) === undefined) throw new NotFound("Tenant");
  const replaced = await removeUnverified(change, tenantId, email);
  const row = await insertUser(
    change,
    "user.register",
    user,
    replaced === undefined ? {} : { replaces: replaced },
  );
  await recordRegistration(change, tenantId, row.id, call.caller.facts.ip);
  const job = { subdomain, email: row.email, turn: "stranger", request: randomUUID() };
  await change.enqueue("mail.verify_email", job);
  return row.id;
}

/** Counts an answer "this address is taken", then rethrows the error. */
async function refuse(
  call: Call<unknown>,
  { tenantId }: NewUser,
  asked: Requester,
  error: unknown,
): Promise<never> {
  // The error is a ServiceError: it was thrown in this process.
  if ((error as Partial<ServiceError>).type === "email_taken") await countTaken(call, tenantId, asked);
  throw error;
}

/** Writes the audit entry of a refusal. The gateway writes it only for callers who are signed in. */
async function recordRefusal(call: Call<unknown>, tenantId: number, code: string): Promise<void> {
  const facts = { tenantId, action: "user.register", outcome: "denied", changes: { code } } as const;
  await call.db.change({ tenantId }, call.caller, (change) =>
    auditRefusal(change, call.runtime, call.caller, { ...facts, byTarget: false }),
  );
}

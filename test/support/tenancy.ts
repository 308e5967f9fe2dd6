// Tenants, departments and users for API tests, made over HTTP as an administrator makes them.
import { demoPassword, type TestService } from "./service.ts";

export interface Made {
  id: number;
  email: string;
  tenant_id: number;
}

let made = 0;
/** A word no other test of this file uses. */
export const unique = (prefix = "t"): string => `${prefix}${++made}`;

export async function makeTenant(
  service: Pick<TestService, "call">,
  superadmin: string,
  settings: Record<string, unknown> = {},
  subdomain = unique("clinic"),
): Promise<{ id: number; subdomain: string }> {
  const body = { name: `Tenant ${subdomain}`, subdomain, settings };
  const answer = await service.call("POST", "/api/admin/tenants", { token: superadmin, body });
  if (answer.status !== 201) throw new Error(`tenant: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export async function makeUser(
  service: Pick<TestService, "call">,
  token: string,
  more: Record<string, unknown> = {},
): Promise<Made> {
  const name = unique("person");
  const body = {
    email: `${name}@people.example`,
    password: demoPassword,
    full_name: `Person ${name}`,
    role: "nurse",
    ...more,
  };
  const answer = await service.call("POST", "/api/admin/users", { token, body });
  if (answer.status !== 201) throw new Error(`user: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export async function makeDepartment(
  service: Pick<TestService, "call">,
  token: string,
  more: Record<string, unknown> = {},
): Promise<{ id: number; tenant_id: number; name: string }> {
  const body = { name: unique("Ward "), ...more };
  const answer = await service.call("POST", "/api/admin/departments", { token, body });
  if (answer.status !== 201) throw new Error(`department: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** A tenant of its own with an administrator who is signed in. */
export async function makeClinic(
  service: TestService,
  superadmin: string,
  settings: Record<string, unknown> = {},
): Promise<{ id: number; subdomain: string; admin: Made; token: string }> {
  const tenant = await makeTenant(service, superadmin, settings);
  const admin = await makeUser(service, superadmin, { tenant_id: tenant.id, role: "admin" });
  const token = await service.signInAs(admin.email, tenant.subdomain);
  return { id: tenant.id, subdomain: tenant.subdomain, admin, token };
}

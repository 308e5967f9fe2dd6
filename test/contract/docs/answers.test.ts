/** What the service really answers, held against what its description says: statuses, shapes, headers. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { contractOf, routes } from "../../../services/api-gateway/routes.ts";
import { resultFaults } from "../../support/result-faults.ts";
import { refusalFaults } from "../../support/refusals.ts";
import { type Answer, type people, startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

function routeOf(method: string, path: string) {
  const asked = path.split("?")[0] ?? "";
  const isAsked = (each: { method: string; path: string }) =>
    each.method === method && new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(asked);
  // A fixed path goes before one with a parameter, as in the router.
  const found = routes.filter(isAsked).sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];
  if (found === undefined) throw new Error(`no route for ${method} ${path}`);
  return found;
}

function assertDescribed(method: string, path: string, { status, body, headers }: Answer): void {
  const route = routeOf(method, path);
  const contract = contractOf(route);
  expect(headers.get("x-request-id")).toMatch(/^[\w-]{8,64}$/);
  if (status === route.status) {
    if (contract.result === undefined) expect(body).toBe("");
    else expect(resultFaults(contract.result, body)).toEqual([]);
    for (const [name, { header = name }] of Object.entries(contract.answerHeaders ?? {}))
      expect([header, headers.has(header)]).toEqual([header, true]);
    return;
  }
  expect(refusalFaults(route, status, body)).toEqual([]);
  expect(headers.has("www-authenticate")).toBe(status === 401);
  expect(headers.has("retry-after")).toBe(status === 429 || status === 503);
}

type Who = keyof typeof people | "nobody";
type Row = [status: number, method: string, path: string, who: Who, body?: unknown];

const clerk = { email: "clerk@demo.example", full_name: "Clerk", role: "registrar" };
const rows: Row[] = [
  [200, "GET", "/api/auth/tenants", "nobody"],
  [200, "GET", "/api/auth/departments?subdomain=demo", "nobody"],
  [
    201,
    "POST",
    "/api/auth/register",
    "nobody",
    { ...clerk, password: "a longer secret 81", subdomain: "demo" },
  ],
  [202, "POST", "/api/auth/request-reset", "nobody", { email: "x@demo.example", subdomain: "demo" }],
  [202, "POST", "/api/auth/resend-verification", "nobody", { email: "y@demo.example", subdomain: "demo" }],
  [200, "GET", "/api/users/me", "nurse"],
  [200, "GET", "/api/auth/me", "superadmin"],
  [200, "GET", "/api/preferences", "doctor"],
  [200, "PUT", "/api/preferences", "doctor", { settings: { rows: 20 } }],
  [200, "PUT", "/api/preferences/theme", "doctor", { theme: "dark" }],
  [200, "GET", "/api/admin/users?limit=3&sort_by=email", "head_doctor"],
  [
    201,
    "POST",
    "/api/admin/users",
    "admin",
    { ...clerk, email: "c2@demo.example", password: "again 7 secrets" },
  ],
  [200, "GET", "/api/admin/tenants", "admin"],
  [201, "POST", "/api/admin/tenants", "superadmin", { name: "North", subdomain: "north" }],
  [201, "POST", "/api/admin/departments", "admin", { name: "Radiology" }],
  [200, "GET", "/api/admin/departments", "admin"],
  [200, "GET", "/api/admin/audit?action=user.*", "admin"],
  [200, "GET", "/api/admin/audit?limit=200", "admin"],
  [200, "GET", "/api/admin/audit/export", "admin"],
  [200, "GET", "/api/admin/audit/verify", "admin"],
  [200, "GET", "/api/admin/health", "admin"],
  [201, "POST", "/api/patients", "doctor", { record_number: "D-1", full_name: "Pat Patient" }],
  [
    201,
    "POST",
    "/api/webhooks/register",
    "admin",
    { url: "https://93.184.215.14/hook", events: ["restore.failed"] },
  ],
  [200, "GET", "/api/webhooks", "admin"],
  [200, "GET", "/api/webhooks/event-types", "admin"],
  [200, "PUT", "/api/webhooks/1", "admin", { is_active: false }],
  [200, "GET", "/api/webhooks/1/deliveries", "admin"],
  [404, "POST", "/api/webhooks/1/deliveries/msg_x/resend", "admin"],
  [409, "POST", "/api/webhooks/1/recover", "admin", { since: "2026-01-01" }],
  [422, "POST", "/api/webhooks/register", "admin", { url: "https://127.0.0.1/", events: [] }],
  [204, "DELETE", "/api/webhooks/1", "admin"],
  [404, "POST", "/api/webhooks/1/test", "admin"],
  [200, "POST", "/webhooks/card-provider", "nobody", { id: "d-1", type: "other" }],
  [200, "POST", "/webhooks/wallet-provider", "nobody", { id: "d-1", type: "other" }],
  [200, "GET", "/api/admin/payments?status=pending", "admin"],
  [200, "GET", "/api/messenger/status", "nurse"],
  [200, "DELETE", "/api/messenger/link", "superadmin"],
  [404, "POST", "/webhooks/telegram", "nobody", { update_id: 1 }],
  [409, "POST", "/api/messenger/link", "nurse", { code: "BCDF-GHJK" }],
  [409, "POST", "/api/messenger/subscribe", "nurse", { events: ["*"] }],
  [400, "POST", "/webhooks/wallet-provider", "nobody", {}],
  [409, "POST", "/webhooks/card-provider", "nobody", { id: "d-1", type: "another" }],
  [422, "POST", "/webhooks/card-provider", "nobody", { id: "d-2" }],
  [200, "GET", "/api/patients?search=D-", "doctor"],
  [200, "GET", "/api/patients/1", "doctor"],
  [200, "PUT", "/api/patients/1", "doctor", { version: 1, birth_date: "1990-05-17", phone: "+49 30 1234" }],
  [201, "POST", "/api/patients/1/records", "doctor", { kind: "visit", body: "First visit." }],
  [200, "GET", "/api/patients/1/records", "doctor"],
  [403, "POST", "/api/patients", "registrar", { record_number: "D-2", full_name: "Pat Patient" }],
  [403, "PUT", "/api/patients/1", "doctor", { version: 2, department_id: null }],
  [404, "GET", "/api/patients/1", "nurse"],
  [404, "POST", "/api/patients/2/records", "doctor", { kind: "visit", body: "x" }],
  [409, "POST", "/api/patients", "doctor", { record_number: "d-1", full_name: "Pat Patient" }],
  [409, "PUT", "/api/patients/1", "doctor", { version: 1 }],
  [422, "POST", "/api/patients", "doctor", {}],
  [204, "DELETE", "/api/patients/1", "doctor"],
  [204, "POST", "/api/auth/logout", "registrar"],
  [400, "POST", "/api/auth/verify-email?token=unknown", "nobody"],
  [400, "POST", "/api/auth/reset-password", "nobody", { token: "unknown", new_password: "a longer secret" }],
  [
    401,
    "POST",
    "/api/auth/login",
    "nobody",
    { email: "doctor@demo.example", password: "wrong", subdomain: "demo" },
  ],
  [401, "GET", "/api/users/me", "nobody"],
  [401, "PUT", "/api/preferences", "nobody", {}],
  [401, "GET", "/api/admin/health", "nobody"],
  [
    403,
    "POST",
    "/api/auth/register",
    "nobody",
    { ...clerk, role: "admin", password: "a longer secret 82", subdomain: "demo" },
  ],
  [403, "GET", "/api/admin/users", "nurse"],
  [403, "GET", "/api/admin/audit?tenant_id=1", "admin"],
  [403, "POST", "/api/admin/tenants", "admin", { name: "X", subdomain: "xx-1" }],
  [404, "GET", "/api/auth/departments?subdomain=nowhere", "nobody"],
  [404, "GET", "/api/admin/tenants/1", "admin"],
  [404, "POST", "/api/admin/users/2147483647/block", "admin"],
  [404, "DELETE", "/api/admin/departments/99999999999", "admin"],
  [409, "POST", "/api/admin/tenants", "superadmin", { name: "Demo again", subdomain: "demo" }],
  [409, "DELETE", "/api/admin/tenants/1", "superadmin"],
  [
    413,
    "POST",
    "/api/auth/login",
    "nobody",
    { email: "a@b.example", password: "x".repeat(1_100_000), subdomain: "demo" },
  ],
  [422, "POST", "/api/auth/login", "nobody", {}],
  [422, "PUT", "/api/preferences", "doctor"],
  [422, "GET", "/api/admin/users?limit=0&page=x&sort_by=password", "admin"],
  [422, "GET", "/api/admin/tenants/one", "superadmin"],
  [422, "PUT", "/api/admin/users/x/role", "admin", { role: "king" }],
];

describe("the description holds for", () => {
  // One argument more than a row has would be taken for Jest's done().
  it.each(rows)("%i of %s %s by %s", async (...row) => {
    const [status, method, path, who, body] = row;
    const token = who === "nobody" ? undefined : await service.signIn(who);
    const answer = await service.call(method, path, { token, body });
    expect(answer.status).toBe(status);
    assertDescribed(method, path, answer);
  });

  it("429, which names the seconds to wait", async () => {
    const body = { email: "z@demo.example", subdomain: "demo" };
    await service.call("POST", "/api/auth/request-reset", { body });
    const answer = await service.call("POST", "/api/auth/request-reset", { body });
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    assertDescribed("POST", "/api/auth/request-reset", answer);
  });
});

// Every operation that changes something, asked twice in the same moment, as by a double click: no 5xx, the effect of one,
// and for the second the same answer or a clear refusal.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Route, routes } from "../../../services/api-gateway/routes.ts";
import { type Cell, requestOf, Rows } from "./cells.ts";
import { rules } from "./rules.ts";
import type { WireAnswer } from "./wire.ts";
import { World } from "./world.ts";

const rounds = 5;

/** The two answers, lower first; both ways where chance decides: who signs out twice may find the session gone. */
const answers: Readonly<Record<string, readonly string[]>> = {
  "POST /api/auth/login": ["200 200"],
  "POST /api/auth/register": ["201 201"],
  "POST /api/auth/request-reset": ["202 429"],
  "POST /api/auth/resend-verification": ["202 429"],
  "POST /api/auth/verify-email": ["200 400"],
  "POST /api/auth/reset-password": ["200 400"],
  "POST /api/auth/logout": ["204 204", "204 401"],
  "PUT /api/preferences": ["200 200"],
  "PUT /api/preferences/theme": ["200 200"],
  "DELETE /api/messenger/link": ["200 200"],
  "POST /api/admin/tenants": ["201 409"],
  "PUT /api/admin/tenants/{tenant_id}": ["200 200"],
  "DELETE /api/admin/tenants/{tenant_id}": ["204 404"],
  "POST /api/admin/departments": ["201 201"],
  "PUT /api/admin/departments/{dept_id}": ["200 200"],
  "DELETE /api/admin/departments/{dept_id}": ["204 404"],
  "POST /api/admin/users": ["201 409"],
  "DELETE /api/admin/users/{user_id}": ["204 404"],
  "POST /api/admin/users/{user_id}/block": ["200 200"],
  "POST /api/admin/users/{user_id}/unblock": ["200 200"],
  "PUT /api/admin/users/{user_id}/role": ["200 200"],
  "POST /api/admin/cache/cleanup": ["200 200"],
  "POST /api/admin/cache/invalidate": ["200 200"],
  "POST /api/admin/cache/warmup": ["200 200"],
  "POST /api/admin/self-healing/look": ["200 200"],
  "POST /api/admin/self-healing/seed-fixes": ["200 200"],
  "POST /webhooks/card-provider": ["200 200"],
  "POST /webhooks/wallet-provider": ["200 200"],
  "POST /api/webhooks/register": ["201 201"],
  "PUT /api/webhooks/{webhook_id}": ["200 200"],
  "DELETE /api/webhooks/{webhook_id}": ["204 404"],
  "POST /api/webhooks/{webhook_id}/test": ["200 200"],
  "POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/resend": ["202 202"],
  "POST /api/webhooks/{webhook_id}/recover": ["202 202"],
  "POST /api/patients": ["201 409"],
  "PUT /api/patients/{patient_id}": ["200 409"],
  "DELETE /api/patients/{patient_id}": ["204 404"],
  "POST /api/patients/{patient_id}/records": ["201 201"],
};

/** What the two leave in the outbox together, where it is not nothing. */
const events: Readonly<Record<string, readonly string[]>> = {
  "POST /api/auth/register": ["user.created", "user.deleted", "user.created"],
  "POST /api/auth/verify-email": ["user.updated"],
  "POST /api/auth/reset-password": ["user.updated"],
  "PUT /api/admin/tenants/{tenant_id}": ["tenant.updated"],
  "POST /api/admin/departments": ["department.created", "department.created"],
  "PUT /api/admin/departments/{dept_id}": ["department.updated"],
  "DELETE /api/admin/departments/{dept_id}": ["department.deleted"],
  "POST /api/admin/users": ["user.created"],
  "DELETE /api/admin/users/{user_id}": ["user.deleted"],
  "POST /api/admin/users/{user_id}/block": ["user.blocked"],
  "PUT /api/admin/users/{user_id}/role": ["user.role_changed"],
  "POST /api/patients": ["patient.created"],
  "PUT /api/patients/{patient_id}": ["patient.updated"],
  "DELETE /api/patients/{patient_id}": ["patient.deleted"],
  "POST /api/patients/{patient_id}/records": ["record.created", "record.created"],
};

let world: World;
let caller: { id: number; tenantId: number };
let superadmin: { id: number; tenantId: number };

beforeAll(async () => {
  world = await World.open({ RATE_MAIL_PER_MINUTE: "1000", RATE_REGISTER_PER_MINUTE: "1000" });
  caller = await world.addUser(world.tenants.own.id, "admin");
  superadmin = await world.addUser(world.tenants.platform.id, "superadmin");
  await world.sql("update users set can_see_all_patients = true where id = $1", [caller.id]);
});
afterAll(() => world?.stop());

const table = routes
  .filter(({ method, path }) => answers[`${method} ${path}`] !== undefined)
  .map((route): [string, Route] => [`${route.method} ${route.path}`, route]);

it("every operation that changes something and can succeed here is among them", () => {
  const changing = Object.entries(rules).filter(
    ([name, { success }]) => !name.startsWith("GET ") && success < 300,
  );
  expect(changing.map(([name]) => name).sort()).toEqual(Object.keys(answers).sort());
});

it.each(table)("%s", async (name, route) => {
  const rule = rules[name];
  if (rule === undefined) throw new Error("no rule");
  const isAdmins = rule.who === "anyone" || rule.who === "signed-in" || rule.who.includes("admin");
  const target = rule.ids.find(({ place }) => place === "path");
  for (let round = 0; round < rounds; round++) {
    const cell: Cell = {
      name,
      caller: isAdmins ? "admin" : "superadmin",
      // Nobody deletes the own tenant.
      kind: name.startsWith("DELETE /api/admin/tenants/") ? "other" : "own",
      id: target,
      place: target?.place ?? "query",
      expected: { status: rule.success },
    };
    const request = await requestOf(new Rows(world, { shared: false }), route, cell);
    const token = await world.openSession(isAdmins ? caller : superadmin);
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const before = await told();
    const both = await Promise.all([
      world.wire.send({ ...request, headers }),
      world.wire.send({ ...request, headers }),
    ]);
    expect(answers[name]).toContain(statusesOf(both));
    expect((await told()).slice(before.length)).toEqual(events[name] ?? []);
  }
});

it("and the audit logs are whole", async () => {
  for (const person of [caller, superadmin]) {
    const token = await world.openSession(person);
    const answer = await world.service.call("GET", "/api/admin/audit/verify", { token });
    expect(answer.body).toMatchObject({ ok: true, first_bad_seq: null });
  }
});

function statusesOf(both: readonly WireAnswer[]): string {
  return both
    .map(({ status }) => status)
    .sort((a, b) => a - b)
    .join(" ");
}

/** The kinds of all events so far; but for the faults that self-healing may find in the world's planted rows at any moment. */
async function told(): Promise<string[]> {
  const rows = await world.sql<{ kind: string }>(
    "select kind from events where kind <> 'incident.opened' order by id",
  );
  return rows.map(({ kind }) => kind);
}

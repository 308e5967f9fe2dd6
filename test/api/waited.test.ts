// A change that has to wait for a lock while its caller is blocked, loses the role, signs out, or the clinic is closed: it
// is refused when its turn comes, and leaves nothing. The order is forced by holding the lock.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
/** Holds what the change waits for. */
let holder: pg.Client;
let person: { id: number; token: string };
let patient: { id: number; version: number };

beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  holder = new pg.Client({ connectionString: service.database.url });
  await holder.connect();
});
afterAll(async () => {
  await holder?.end();
  await service?.stop();
});
beforeEach(async () => {
  clinic = await makeClinic(service, superadmin);
  const { id, email } = await makeUser(service, clinic.token, { role: "doctor", can_see_all_patients: true });
  person = { id, token: await service.signInAs(email, clinic.subdomain) };
  const body = { record_number: unique("R-"), full_name: "Before" };
  patient = (await service.call("POST", "/api/patients", { token: person.token, body })).body;
});

const sql = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;
const change = () =>
  service.call("PUT", `/api/patients/${patient.id}`, {
    token: person.token,
    body: { version: patient.version, full_name: "After" },
  });
const waiting = () =>
  eventually(async () => {
    const [row] = await sql(
      "select count(*)::integer as count from pg_stat_activity where wait_event_type = 'Lock'",
    );
    return row.count === 1;
  });
async function left() {
  const [{ version }] = await sql("select version from patients where id = $1", [patient.id]);
  const entries = await sql(
    "select action, outcome from audit_entries where tenant_id = $1 and action = 'patient.update'",
    [clinic.id],
  );
  const events = await sql("select kind from events where tenant_id = $1 and kind = 'patient.updated'", [
    clinic.id,
  ]);
  return { version, entries, events };
}
const ended = { status: 401, body: { code: "invalid_token" } };
const nothing = () => ({ version: patient.version, entries: [], events: [] });
const admin = (method: string, path: string, body?: unknown, token = clinic.token) =>
  service.call(method, path, body === undefined ? { token } : { token, body });

describe("while it waits for a row", () => {
  it.each([
    ["its caller is blocked", () => admin("POST", `/api/admin/users/${person.id}/block`)],
    [
      "its caller loses the role",
      () => admin("PUT", `/api/admin/users/${person.id}/role`, { role: "nurse" }),
    ],
    ["its caller is deleted", () => admin("DELETE", `/api/admin/users/${person.id}`)],
    ["its caller signs out", () => admin("POST", "/api/auth/logout", undefined, person.token)],
    [
      "its clinic is closed",
      () => admin("PUT", `/api/admin/tenants/${clinic.id}`, { is_active: false }, superadmin),
    ],
  ])("%s: refused, and nothing is left of it", async (_name, end) => {
    await holder.query("begin");
    await holder.query("select from patients where id = $1 for update", [patient.id]);
    const answer = change();
    await waiting();
    expect((await end()).status).toBeLessThan(300);
    await holder.query("commit");
    expect(await answer).toMatchObject(ended);
    expect(await left()).toEqual(nothing());
  });

  it("nothing happens to its caller: it is done", async () => {
    await holder.query("begin");
    await holder.query("select from patients where id = $1 for update", [patient.id]);
    const answer = change();
    await waiting();
    await holder.query("commit");
    expect((await answer).status).toBe(200);
    expect(await left()).toMatchObject({ version: patient.version + 1, events: [expect.anything()] });
  });
});

it("while it waits for the log, behind the very change that ends its caller's session: refused", async () => {
  await holder.query("begin");
  await holder.query("update users set is_active = false, session_epoch = session_epoch + 1 where id = $1", [
    person.id,
  ]);
  // As a blocking change does it last: from here on the tenant's log waits for it.
  await holder.query("select from audit_heads where tenant_id = $1 for update", [clinic.id]);
  const answer = change();
  await waiting();
  await holder.query("commit");
  expect(await answer).toMatchObject(ended);
  expect(await left()).toEqual(nothing());
});

it("a superadmin's change in another clinic is asked after the superadmin's own session", async () => {
  const { id, email } = await makeUser(service, superadmin, { role: "superadmin" });
  const token = await service.signInAs(email, "platform");
  await holder.query("begin");
  await holder.query("select from tenants where id = $1 for update", [clinic.id]);
  const rename = (name: string) => admin("PUT", `/api/admin/tenants/${clinic.id}`, { name }, token);
  const answer = rename("After");
  await waiting();
  expect((await admin("POST", `/api/admin/users/${id}/block`, undefined, superadmin)).status).toBe(200);
  await holder.query("commit");
  expect(await answer).toMatchObject(ended);
  const again = await admin("PUT", `/api/admin/tenants/${clinic.id}`, { name: "Renamed" }, superadmin);
  expect(again).toMatchObject({ status: 200, body: { name: "Renamed" } });
});

it("signing out ends the session by which it is done, and twice is once", async () => {
  const token = person.token;
  expect((await admin("POST", "/api/auth/logout", undefined, token)).status).toBe(204);
  expect(await admin("POST", "/api/auth/logout", undefined, token)).toMatchObject(ended);
});

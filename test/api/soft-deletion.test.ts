// Deleted tenants, users and patients: hidden at once, brought back by an operator, purged for good after the retention.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Caller } from "../../services/shared/caller.ts";
import { traceOf } from "../support/journal.ts";
import { type Operator, startOperator } from "../support/operator.ts";
import { demoPassword, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeTenant, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let operator: Operator;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService({ RETENTION_DAYS: "30" });
  operator = await startOperator(service);
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
});
afterAll(async () => {
  await operator.stop();
  await service.stop();
});

const remove = async (what: "users" | "tenants", id: number): Promise<void> => {
  const answer = await service.call("DELETE", `/api/admin/${what}/${id}`, { token: superadmin });
  expect(answer.status).toBe(204);
};
const login = async (email: string, subdomain: string): Promise<number> => {
  const body = { email, password: demoPassword, subdomain };
  return (await service.call("POST", "/api/auth/login", { body })).status;
};
const me = async (token: string) => (await service.call("GET", "/api/users/me", { token })).status;
const exists = async (table: string, id: number): Promise<boolean> =>
  ((await service.database.owner.query(`select from ${table} where id = $1`, [id])).rowCount ?? 0) > 0;
const age = (table: string, id: number, days: number) =>
  service.database.owner.query(
    `update ${table} set deleted_at = now() - make_interval(days => $2) where id = $1`,
    [id, days],
  );

/** Runs the purge and waits until it is done. */
async function purge(task: "users.purge" | "tenants.purge"): Promise<void> {
  const { owner } = service.database;
  const { rows } = await owner.query("select (graphile_worker.add_job($1)).id as id", [task]);
  await eventually(async () => {
    const left = await owner.query("select from graphile_worker._private_jobs where id = $1", [rows[0].id]);
    return left.rowCount === 0;
  });
}

describe("restoring a user", () => {
  it("brings back the account as it was, with no session, and tells of it", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const user = await makeUser(service, clinic.token, { department_id: ward.id });
    const session = await service.signInAs(user.email, clinic.subdomain);
    await service.call("PUT", "/api/preferences/theme", { token: session, body: { theme: "dark" } });
    await remove("users", user.id);
    expect(await login(user.email, clinic.subdomain)).toBe(401);
    const { entries, events } = await traceOf(service, async () => {
      expect(await operator.call("users.restore", { user_id: user.id })).toMatchObject({
        id: user.id,
        department_id: ward.id,
        is_active: true,
      });
    });
    expect(entries).toMatchObject([
      {
        action: "user.restore",
        tenant_id: clinic.id,
        user_id: null,
        changes: { operator: "tests" },
        request_id: "operator-request",
      },
    ]);
    expect(events).toMatchObject([{ kind: "user.updated", payload: { user_id: user.id } }]);
    expect(await me(session)).toBe(401);
    const next = await service.signInAs(user.email, clinic.subdomain);
    expect((await service.call("GET", "/api/preferences", { token: next })).body.theme).toBe("dark");
  });

  it("a blocked user comes back blocked", async () => {
    const user = await makeUser(service, clinic.token);
    await service.call("POST", `/api/admin/users/${user.id}/block`, { token: clinic.token });
    await remove("users", user.id);
    expect(await operator.call("users.restore", { user_id: user.id })).toMatchObject({ is_active: false });
    expect(await login(user.email, clinic.subdomain)).toBe(403);
  });

  it("fails when somebody else has the address by now, and when nothing was deleted", async () => {
    const user = await makeUser(service, clinic.token);
    await expect(operator.call("users.restore", { user_id: user.id })).rejects.toMatchObject({
      code: 409,
      type: "not_deleted",
    });
    await remove("users", user.id);
    await makeUser(service, clinic.token, { email: user.email.toUpperCase() });
    await expect(operator.call("users.restore", { user_id: user.id })).rejects.toMatchObject({
      code: 409,
      type: "email_taken",
    });
    await expect(operator.call("users.restore", { user_id: 2_000_000_000 })).rejects.toMatchObject({
      code: 404,
    });
  });

  it("is no superadmin's business, and nobody's without a caller", async () => {
    const user = await makeUser(service, clinic.token);
    await remove("users", user.id);
    const role = {
      tenantId: 1,
      departmentId: null,
      canSeeAllPatients: true,
      sessionId: "",
      readAt: Date.now(),
    };
    for (const name of ["superadmin", "admin"] as const) {
      const principal = { kind: "user" as const, userId: 1, role: name, ...role };
      const facts = { via: "api-gateway", requestId: "r", ip: null, userAgent: null };
      const by = new Caller({ ...facts, principal });
      await expect(operator.call("users.restore", { user_id: user.id }, by)).rejects.toMatchObject({
        code: 403,
      });
    }
    const path = `/api/admin/users/${user.id}/restore`;
    expect((await service.call("POST", path, { token: superadmin })).status).toBe(404);
  });
});

describe("restoring a patient", () => {
  const restore = (id: number, by?: Caller) => operator.call("patients.restore", { patient_id: id }, by);
  let token: string;
  beforeAll(async () => {
    const doctor = await makeUser(service, clinic.token, { role: "doctor", can_see_all_patients: true });
    token = await service.signInAs(doctor.email, clinic.subdomain);
  });
  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, `/api/patients${path}`, { token, body });
  async function made(body: Record<string, unknown> = {}) {
    const sent = { record_number: unique("R-"), full_name: "Some Body", notes: "kept", ...body };
    const answer = await call("POST", "", sent);
    expect(answer.status).toBe(201);
    return answer.body;
  }
  const drop = async (id: number) => expect((await call("DELETE", `/${id}`)).status).toBe(204);

  it("brings it back with its records, as a new version, told in numbers alone", async () => {
    const patient = await made();
    await call("POST", `/${patient.id}/records`, { kind: "note", body: "kept too" });
    await call("GET", `/${patient.id}`);
    await drop(patient.id);
    expect((await call("GET", `/${patient.id}`)).status).toBe(404);
    const { entries, events } = await traceOf(service, async () => {
      expect(await restore(patient.id)).toEqual({ id: patient.id, tenant_id: clinic.id, version: 3 });
    });
    expect(entries).toMatchObject([
      {
        action: "patient.restore",
        tenant_id: clinic.id,
        target_id: String(patient.id),
        changes: { operator: "tests" },
      },
    ]);
    expect(events).toMatchObject([
      { kind: "patient.updated", payload: { patient_id: patient.id, version: 3, restored: true } },
    ]);
    const { full_name: name } = patient;
    expect((await call("GET", `/${patient.id}`)).body).toMatchObject({
      full_name: name,
      notes: "kept",
      version: 3,
    });
    expect((await call("GET", `/${patient.id}/records`)).body.items).toMatchObject([{ body: "kept too" }]);
  });

  it("fails when the record number is another's by now, when nothing was deleted, and when there is none", async () => {
    const patient = await made();
    await expect(restore(patient.id)).rejects.toMatchObject({ code: 409, type: "not_deleted" });
    await drop(patient.id);
    await made({ record_number: patient.record_number });
    await expect(restore(patient.id)).rejects.toMatchObject({ code: 409, type: "record_number_taken" });
    expect((await call("GET", `/${patient.id}`)).status).toBe(404);
    await expect(restore(2_000_000_000)).rejects.toMatchObject({ code: 404 });
  });

  it("is no superadmin's business, and has no route", async () => {
    const patient = await made();
    await drop(patient.id);
    const role = {
      tenantId: 1,
      departmentId: null,
      canSeeAllPatients: true,
      sessionId: "",
      readAt: Date.now(),
    };
    for (const name of ["superadmin", "admin"] as const) {
      const principal = { kind: "user" as const, userId: 1, role: name, ...role };
      const facts = { via: "api-gateway", requestId: "r", ip: null, userAgent: null };
      await expect(restore(patient.id, new Caller({ ...facts, principal }))).rejects.toMatchObject({
        code: 403,
      });
    }
    expect((await call("POST", `/${patient.id}/restore`)).status).toBe(404);
  });
});

describe("restoring a tenant", () => {
  it("brings back its people, who have to sign in again", async () => {
    const own = await makeClinic(service, superadmin);
    await remove("tenants", own.id);
    expect(await login(own.admin.email, own.subdomain)).toBe(401);
    const { entries } = await traceOf(service, () => operator.call("tenants.restore", { tenant_id: own.id }));
    expect(entries).toMatchObject([{ action: "tenant.restore", tenant_id: own.id }]);
    expect(await me(own.token)).toBe(401);
    expect(await login(own.admin.email, own.subdomain)).toBe(200);
    const total = await service.call("GET", `/api/admin/users?tenant_id=${own.id}`, { token: superadmin });
    expect(total.body.total).toBe(1);
  });

  it("fails when another tenant has the subdomain by now", async () => {
    const own = await makeClinic(service, superadmin);
    await remove("tenants", own.id);
    await makeTenant(service, superadmin, {}, own.subdomain);
    await expect(operator.call("tenants.restore", { tenant_id: own.id })).rejects.toMatchObject({
      code: 409,
      type: "subdomain_taken",
    });
  });
});

describe("the purge", () => {
  it("takes users after the retention and not a day earlier, with all that is theirs, and says so", async () => {
    const [old, young] = [await makeUser(service, clinic.token), await makeUser(service, clinic.token)];
    const present = await makeUser(service, clinic.token);
    for (const { email } of [old, young]) await service.signInAs(email, clinic.subdomain);
    for (const { id } of [old, young]) await remove("users", id);
    await age("users", old.id, 31);
    await age("users", young.id, 29);
    const { entries } = await traceOf(service, () => purge("users.purge"));
    expect([await exists("users", old.id), await exists("users", young.id)]).toEqual([false, true]);
    expect(await exists("users", present.id)).toBe(true);
    const sessions = "select from sessions where user_id = $1";
    expect((await service.database.owner.query(sessions, [old.id])).rowCount).toBe(0);
    expect(entries).toMatchObject([{ action: "user.purge", target_id: String(old.id), user_id: null }]);
    await expect(operator.call("users.restore", { user_id: old.id })).rejects.toMatchObject({ code: 404 });
    expect(await operator.call("users.restore", { user_id: young.id })).toMatchObject({ id: young.id });
  });

  it("takes a tenant with departments, heads and people, but not its audit log, which stays whole", async () => {
    const own = await makeClinic(service, superadmin);
    const doctor = await makeUser(service, own.token, { role: "doctor" });
    const ward = await makeDepartment(service, own.token, { head_doctor_id: doctor.id });
    await makeUser(service, own.token, { department_id: ward.id });
    await remove("tenants", own.id);
    await purge("tenants.purge");
    expect(await exists("tenants", own.id)).toBe(true);
    await age("tenants", own.id, 31);
    await purge("tenants.purge");
    expect(await exists("tenants", own.id)).toBe(false);
    const tables = [
      "users",
      "departments",
      "sessions",
      "user_counts",
      "lockouts",
      "mail_tokens",
      "known_origins",
    ];
    for (const table of tables) {
      const sql = `select from ${table} where tenant_id = $1`;
      expect((await service.database.owner.query(sql, [own.id])).rowCount).toBe(0);
    }
    const ask = (path: string) =>
      service.call("GET", `/api/admin/audit${path}tenant_id=${own.id}`, { token: superadmin });
    const log = await ask("?");
    expect(log.body.items[0]).toMatchObject({ action: "tenant.purge", target_id: String(own.id) });
    expect((await ask("/verify?")).body).toMatchObject({
      ok: true,
      checked: log.body.total,
      first_bad_seq: null,
    });
  });

  it("never takes what is not deleted, nor the platform", async () => {
    const before = await service.database.owner.query("select count(*) from users where deleted_at is null");
    await purge("users.purge");
    await purge("tenants.purge");
    const after = await service.database.owner.query("select count(*) from users where deleted_at is null");
    expect(after.rows).toEqual(before.rows);
    await expect(
      service.database.owner.query("update tenants set deleted_at = now() where subdomain = 'platform'"),
    ).rejects.toThrow(/check constraint/);
  });
});

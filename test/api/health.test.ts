// Section 4.11, the administrators' health report, in an installation of many tenants and in one of a single tenant.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  addressOf,
  type Answer,
  callApi,
  eventually,
  runProcess,
  startService,
  type TestService,
} from "../support/service.ts";
import { startSilentServer } from "../support/silent-server.ts";
import { makeClinic, makeDepartment, makeUser } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
});
afterAll(() => service.stop());

const report = (token: string): Promise<Answer> => service.call("GET", "/api/admin/health", { token });
const count = async (sql: string): Promise<number> =>
  (await service.database.owner.query(`select count(*)::integer as n from ${sql}`)).rows[0].n;

describe("200", () => {
  it("the interface's fields first, in its order", async () => {
    const { status, body, headers } = await report(superadmin);
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(Object.keys(body).slice(0, 6)).toEqual([
      "status",
      "tenant_mode",
      "encryption_enabled",
      "tenants_count",
      "users_count",
      "departments_count",
    ]);
    expect(body).toMatchObject({
      status: "ok",
      tenant_mode: true,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      uptime_s: expect.any(Number),
      checks: { postgres: "ok", bus: "ok", mail: "ok", messenger: "off" },
    });
  });

  it("a superadmin's counts are over all tenants that are there", async () => {
    const gone = await makeClinic(service, superadmin);
    await makeDepartment(service, gone.token);
    await service.call("DELETE", `/api/admin/tenants/${gone.id}`, { token: superadmin });
    const deleted = await makeUser(service, clinic.token);
    await service.call("DELETE", `/api/admin/users/${deleted.id}`, { token: clinic.token });
    const live = "tenant_id in (select id from tenants where deleted_at is null)";
    expect((await report(superadmin)).body).toMatchObject({
      tenants_count: await count("tenants where deleted_at is null"),
      users_count: await count(`users where deleted_at is null and ${live}`),
      departments_count: await count(`departments where ${live}`),
      patients_count: await count(`patients where deleted_at is null and ${live}`),
    });
  });

  it("an administrator's counts are their own tenant's", async () => {
    await makeDepartment(service, clinic.token);
    const before = (await report(clinic.token)).body;
    expect(before).toMatchObject({
      tenants_count: 1,
      users_count: await count(`users where deleted_at is null and tenant_id = ${clinic.id}`),
      departments_count: await count(`departments where tenant_id = ${clinic.id}`),
    });
    await makeClinic(service, superadmin);
    await makeUser(service, clinic.token);
    expect((await report(clinic.token)).body).toMatchObject({
      tenants_count: 1,
      users_count: before.users_count + 1,
      departments_count: before.departments_count,
    });
  });

  it("patients are counted while they are there, and only to those whose they are", async () => {
    const { email } = await makeUser(service, clinic.token, { can_see_all_patients: true });
    const token = await service.signInAs(email, clinic.subdomain);
    const countsOf = async () => (await report(clinic.token)).body.patients_count;
    const other = await makeClinic(service, superadmin);
    expect(await countsOf()).toBe(0);
    const body = { record_number: "H-1", full_name: "Some Body" };
    const made = await service.call("POST", "/api/patients", { token, body });
    expect(await countsOf()).toBe(1);
    expect((await report(other.token)).body).toMatchObject({ patients_count: 0, key_version: 1 });
    await service.call("DELETE", `/api/patients/${made.body.id}`, { token });
    expect(await countsOf()).toBe(0);
  });

  it("says that patients are sealed, and under which version of the key", async () => {
    for (const token of [superadmin, clinic.token]) {
      expect((await report(token)).body).toMatchObject({ encryption_enabled: true, key_version: 1 });
    }
  });

  it("tells nothing of addresses, logins or paths", async () => {
    const text = JSON.stringify((await report(superadmin)).body);
    expect(text).not.toMatch(/postgres(?:ql)?:\/\/|password|\/tmp|_login|secret/i);
  });
});

describe("401 and 403", () => {
  it("nobody without a token", async () => {
    expect((await service.call("GET", "/api/admin/health")).status).toBe(401);
  });

  it.each(["head_doctor", "doctor", "nurse", "registrar"] as const)("no %s", async (role) => {
    expect((await report(await service.signIn(role))).status).toBe(403);
  });
});

describe("what hangs", () => {
  it("is down within two seconds each: a store, a mail server and a Bot API that take the connection and say nothing", async () => {
    const silent = await startSilentServer();
    const url = `http://127.0.0.1:${silent.port}`;
    const hanging = runProcess({
      ...service.settings,
      DATA_DIR: join(service.database.folder, "hanging"),
      S3_ENDPOINT: url,
      S3_BUCKET: "records",
      S3_ACCESS_KEY: "someone",
      S3_SECRET_KEY: "canary-of-the-store",
      SMTP_URL: `smtp://127.0.0.1:${silent.port}`,
      TELEGRAM_BOT_TOKEN: "4711:canary-of-the-token-AAbbCCdd",
      TELEGRAM_API_ROOT: url,
    });
    try {
      const address = await addressOf(hanging);
      const ask = async () => {
        const startedAt = performance.now();
        const { status, body } = await callApi(address, "GET", "/api/admin/health", { token: superadmin });
        return { status, body, ms: performance.now() - startedAt };
      };
      const checks = { postgres: "ok", bus: "ok", object_store: "down", mail: "down" };
      const first = await ask();
      expect(first).toMatchObject({ status: 200, body: { status: "degraded", checks } });
      // Two seconds, and what a busy machine takes for the rest of the report.
      expect(first.ms).toBeLessThan(4_500);
      // The messenger says so itself once its first question has had no answer.
      await eventually(async () => (await ask()).body.checks.messenger === "down");
      // Twenty at once wait together, not one behind the other.
      const many = await Promise.all(Array.from({ length: 20 }, ask));
      for (const { body } of many)
        expect(body).toMatchObject({ status: "degraded", checks: { ...checks, messenger: "down" } });
      expect(Math.max(...many.map(({ ms }) => ms))).toBeLessThan(9_000);
      // None of them leaves a connection that is waited on for ever.
      await eventually(async () => silent.waiting() <= 10);
    } finally {
      await hanging.stop();
      await silent.stop();
    }
  });
});

describe("TENANT_MODE=single", () => {
  it("says so, and takes a second tenant only once the first is gone", async () => {
    const single = runProcess({
      ...service.settings,
      TENANT_MODE: "single",
      DATA_DIR: join(service.database.folder, "single"),
    });
    try {
      const url = await addressOf(single);
      expect((await callApi(url, "GET", "/api/admin/health", { token: superadmin })).body.tenant_mode).toBe(
        false,
      );
      const create = (subdomain: string) =>
        callApi(url, "POST", "/api/admin/tenants", { token: superadmin, body: { name: "x", subdomain } });
      expect(await create("second-one")).toMatchObject({ status: 409, body: { code: "single_tenant" } });
      // A switched-off tenant is still the one there is.
      const { body: tenants } = await service.call("GET", "/api/admin/tenants", { token: superadmin });
      for (const { id, subdomain } of tenants) {
        if (subdomain === "platform") continue;
        expect((await create("second-one")).status).toBe(409);
        await service.call("DELETE", `/api/admin/tenants/${id}`, { token: superadmin });
      }
      const answers = await Promise.all(["one-a", "one-b", "one-c", "one-d"].map(create));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    } finally {
      await single.stop();
    }
  });
});

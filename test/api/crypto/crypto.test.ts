// The keyring of a running service: made once, of use only with its BOOT_SECRET, and for nobody but the services.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openClient } from "../../../services/shared/database/open-client.ts";
import { runProcess, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeUser, unique } from "../../support/tenancy.ts";

let service: TestService;
let superadmin: string;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
});
afterAll(() => service.stop());

const rowsOf = async (sql: string, values: unknown[] = []) =>
  (await service.database.owner.query(sql, values)).rows;

async function freshClinic() {
  const clinic = await makeClinic(service, superadmin);
  const { email } = await makeUser(service, clinic.token, { can_see_all_patients: true });
  return { id: clinic.id, token: await service.signInAs(email, clinic.subdomain) };
}
const create = (token: string, more = {}) =>
  service.call("POST", "/api/patients", {
    token,
    body: { record_number: unique("R-"), full_name: "Some Body", ...more },
  });

describe("data keys", () => {
  it("are made at first use: of 20 at once, one pair and one entry each", async () => {
    const clinic = await freshClinic();
    expect(await rowsOf("select from data_keys where tenant_id = $1", [clinic.id])).toEqual([]);
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(clinic.token)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    const keys = await rowsOf(
      "select purpose, state, master_version, length(wrapped) as bytes from data_keys where tenant_id = $1 order by id",
      [clinic.id],
    );
    const key = { state: "primary", master_version: 1, bytes: 61 };
    expect(keys).toEqual([
      { purpose: "field", ...key },
      { purpose: "index", ...key },
    ]);
    const entries = await rowsOf(
      "select changes from audit_entries where tenant_id = $1 and action = 'encryption.create_key' order by id",
      [clinic.id],
    );
    expect(entries.map(({ changes }) => changes)).toEqual([
      { purpose: "field", master_version: 1 },
      { purpose: "index", master_version: 1 },
    ]);
  });

  it("of two tenants differ: equal names have different indexes and different bytes", async () => {
    const [one, two] = [await freshClinic(), await freshClinic()];
    for (const { token } of [one, two]) await create(token, { full_name: "Equal Name" });
    const rows = await rowsOf("select identity, full_name_index from patients where tenant_id = any($1)", [
      [one.id, two.id],
    ]);
    expect(new Set(rows.map((row) => row.full_name_index.toString("hex"))).size).toBe(2);
    expect(new Set(rows.map((row) => row.identity.toString("hex"))).size).toBe(2);
  });

  it("are not made by refused requests and by readings", async () => {
    const clinic = await freshClinic();
    for (const [method, path, body] of [
      ["GET", "/api/patients", undefined],
      ["GET", "/api/patients/1", undefined],
      ["PUT", "/api/patients/1", { version: 1 }],
      ["POST", "/api/patients/1/records", { kind: "x", body: "x" }],
      ["POST", "/api/patients", { record_number: "x" }],
      ["POST", "/api/patients", { record_number: "x", full_name: "x", department_id: 2_000_000_000 }],
    ] as const) {
      await service.call(method, path, { token: clinic.token, body });
    }
    expect(await rowsOf("select from data_keys where tenant_id = $1", [clinic.id])).toEqual([]);
  });

  it("two primary ones of a purpose are refused by the database", async () => {
    const clinic = await freshClinic();
    await create(clinic.token);
    const twice = `insert into data_keys (tenant_id, purpose, master_version, wrapped, state)
      select tenant_id, purpose, master_version, wrapped, state from data_keys where tenant_id = $1 limit 1`;
    await expect(rowsOf(twice, [clinic.id])).rejects.toMatchObject({ constraint: "data_keys_primary" });
  });
});

describe("the master key", () => {
  it("is made once, wrapped, and counted in health", async () => {
    const rows = await rowsOf("select version, state, length(wrapped) as bytes from master_keys");
    expect(rows).toEqual([{ version: 1, state: "primary", bytes: 61 }]);
    const { body } = await service.call("GET", "/api/admin/health", { token: superadmin });
    expect(body).toMatchObject({ encryption_enabled: true, key_version: 1 });
  });

  it("stays the same when the service starts again, and what is sealed opens", async () => {
    const clinic = await freshClinic();
    const { body: patient } = await create(clinic.token, { notes: "before the restart" });
    const before = await rowsOf("select * from master_keys");
    await service.process.stop();
    const again = runProcess(service.settings);
    const [, url = ""] = await again.printed(/API {3}(http:\/\/\S+)\/api/);
    try {
      const answer = await fetch(`${url}/api/patients/${patient.id}`, {
        headers: { authorization: `Bearer ${clinic.token}` },
      });
      expect(await answer.json()).toEqual(patient);
      expect(await rowsOf("select * from master_keys")).toEqual(before);
    } finally {
      await again.stop();
    }
  });

  it("needs its BOOT_SECRET: with another the service does not start, says why, and writes nothing", async () => {
    // The process of the tests above has ended; the database is what it left.
    const state = async () => ({
      masters: await rowsOf("select * from master_keys"),
      data: await rowsOf("select * from data_keys order by id"),
      entries: await rowsOf("select count(*) from audit_entries"),
      login: await rowsOf("select rolpassword from pg_authid where rolname = 'records_login'"),
    });
    const before = await state();
    const BOOT_SECRET = createHash("sha256").update("another").digest("base64url");
    const { DATABASE_URL = "", ...rest } = service.settings;
    for (const [program, env] of [
      ["host/start.ts", { ...service.settings, BOOT_SECRET }],
      ["host/migrate.ts", { ...service.settings, BOOT_SECRET }],
    ] as const) {
      const wrong = runProcess(env, program);
      expect(await wrong.exited).toBe(1);
      expect(wrong.output()).toMatch(/BOOT_SECRET is not the one under which this database's keys are kept/);
      expect(wrong.output()).not.toContain(BOOT_SECRET);
      expect(wrong.output()).not.toMatch(/ready/);
    }
    expect(await state()).toEqual(before);

    // With a login of its own a process comes as far as the keyring, and no further.
    const login = new URL(DATABASE_URL.replace("@/", "@socket.invalid/"));
    await rowsOf("alter role records_crypto password 'its-own-password'");
    login.username = "records_crypto";
    login.password = "its-own-password";
    const DATABASE_APP_URL = login.href.replace("@socket.invalid/", "@/");
    const client = await openClient(DATABASE_APP_URL, "DATABASE_APP_URL");
    await client.end();
    const wrong = runProcess({ ...rest, SERVICES: "crypto", DATABASE_APP_URL, BOOT_SECRET });
    expect(await wrong.exited).toBe(1);
    expect(wrong.output()).toMatch(/BOOT_SECRET is not the one/);
    expect(wrong.output()).not.toMatch(/ready/);
    expect(await state()).toEqual(before);
  });
});

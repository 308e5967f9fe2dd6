// A new BOOT_SECRET: the keys are put under it while the service is stopped, and everything sealed opens as before.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  addressOf,
  callApi,
  demoPassword,
  runProcess,
  startDatabase,
  type TestDatabase,
  testSettings,
} from "../../support/service.ts";

const program = "host/rewrap.ts";
const next = "the-secret-that-follows-0123456789abcdef";

async function ended(env: Record<string, string>) {
  const running = runProcess(env, program);
  return { code: await running.exited, said: running.output().trim() };
}

async function signIn(url: string): Promise<string> {
  const body = { subdomain: "demo", email: "head@demo.example", password: demoPassword };
  return (await callApi(url, "POST", "/api/auth/login", { body })).body.access_token;
}

/** Starts the service, lets `look` use it, stops it. */
async function visit<T>(
  env: Record<string, string>,
  look: (url: string, token: string) => Promise<T>,
): Promise<T> {
  const running = runProcess(env);
  try {
    const url = await addressOf(running);
    return await look(url, await signIn(url));
  } finally {
    expect(await running.stop()).toBe(0);
  }
}

const createPatient = (env: Record<string, string>) =>
  visit(env, async (url, token) => {
    const body = { record_number: "R-1", full_name: "Anna Muster" };
    return (await callApi(url, "POST", "/api/patients", { token, body })).body;
  });
const readPatient = (env: Record<string, string>, id: number) =>
  visit(env, async (url, token) => (await callApi(url, "GET", `/api/patients/${id}`, { token })).body);

describe("with BOOT_SECRET set", () => {
  let database: TestDatabase;
  let env: Record<string, string>;
  beforeAll(async () => {
    database = await startDatabase();
    env = testSettings(database);
  });
  afterAll(() => database.stop());

  it("is refused with one sentence where the database is empty", async () => {
    expect(await ended({ ...env, NEW_BOOT_SECRET: next })).toEqual({
      code: 1,
      said: "The database holds nothing of this service yet, so there are no keys to put under a new secret.",
    });
  });

  it("is refused without NEW_BOOT_SECRET, and with a BOOT_SECRET that does not open the keys", async () => {
    await createPatient(env);
    const missing = await ended(env);
    expect([missing.code, missing.said]).toEqual([1, expect.stringMatching(/^NEW_BOOT_SECRET .* must hold/)]);
    const before = await database.owner.query("select * from master_keys");
    const wrong = await ended({ ...env, BOOT_SECRET: `${next}-wrong`, NEW_BOOT_SECRET: next });
    expect([wrong.code, wrong.said]).toEqual([1, expect.stringMatching(/^BOOT_SECRET is not the one/)]);
    expect((await database.owner.query("select * from master_keys")).rows).toEqual(before.rows);
  });

  it("is refused while a process that holds the secret is connected, and changes nothing", async () => {
    const before = await database.owner.query("select * from master_keys");
    const change = { ...env, NEW_BOOT_SECRET: next };
    await visit(env, async (url, token) => {
      expect(await ended(change)).toEqual({
        code: 1,
        said: "The service is running (records_login is connected): stop all processes that hold BOOT_SECRET first.",
      });
      const patients = await callApi(url, "GET", "/api/patients", { token });
      expect([patients.status, patients.body.items[0].full_name]).toEqual([200, "Anna Muster"]);
    });
    expect((await database.owner.query("select * from master_keys")).rows).toEqual(before.rows);
  });

  it("moves the keys; after it only the new secret starts the service, and what was sealed opens", async () => {
    const { rows } = await database.owner.query("select id from patients");
    const { DATABASE_URL = "", BOOT_SECRET = "" } = env;
    // As in the image, and with nothing but what it uses.
    const change = { NODE_ENV: "production", DATABASE_URL, BOOT_SECRET, NEW_BOOT_SECRET: next };
    expect(await ended(change)).toEqual({
      code: 0,
      said: "1 master key(s) are under the new secret now. Set BOOT_SECRET to it and start the service.",
    });
    // Again, as after a crash: nothing is left to do.
    expect((await ended(change)).code).toBe(0);
    const old = runProcess(env);
    expect(await old.exited).toBe(1);
    expect(old.output()).toMatch(/BOOT_SECRET is not the one/);
    expect(await readPatient({ ...env, BOOT_SECRET: next }, rows[0].id)).toMatchObject({
      full_name: "Anna Muster",
    });
    const entries = await database.owner.query(
      "select changes from audit_entries where action = 'encryption.rewrap'",
    );
    expect(entries.rows).toEqual([{ changes: { master_keys: 1 } }]);
  });
});

describe("with everything embedded", () => {
  it("replaces the generated secret, is refused while the service runs, and loses nothing", async () => {
    const folder = await mkdtemp(join(tmpdir(), "records-rewrap-"));
    const env = { DATA_DIR: join(folder, "data"), PORT: "0", DEMO_MODE: "true" };
    const secrets = async () => JSON.parse(await readFile(join(env.DATA_DIR, "secrets.json"), "utf8"));
    try {
      const patient = await createPatient(env);
      const before = await secrets();
      await visit(env, async () => {
        const refused = await ended(env);
        expect([refused.code, refused.said]).toEqual([1, expect.stringMatching(/in use|another/i)]);
      });
      expect((await ended(env)).code).toBe(0);
      const after = await secrets();
      expect(Object.keys(after)).toEqual(Object.keys(before));
      expect(after.boot).not.toBe(before.boot);
      expect([after.jwt, after.postgres]).toEqual([before.jwt, before.postgres]);
      expect(await readPatient(env, patient.id)).toMatchObject({ full_name: "Anna Muster" });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("killed before the file was written, says at the next start what to do, and goes on", async () => {
    const folder = await mkdtemp(join(tmpdir(), "records-rewrap-"));
    const env = { DATA_DIR: join(folder, "data"), PORT: "0", DEMO_MODE: "true" };
    const file = join(env.DATA_DIR, "secrets.json");
    try {
      const patient = await createPatient(env);
      const before = JSON.parse(await readFile(file, "utf8"));
      // As it lies there from the beginning of a run until its end.
      const during = JSON.stringify({ ...before, boot_next: Buffer.alloc(32, 7).toString("base64url") });
      await writeFile(file, during);
      // Killed before its commit: the present one is still the right one.
      expect(await readPatient(env, patient.id)).toMatchObject({ full_name: "Anna Muster" });
      expect((await ended(env)).code).toBe(0);
      await writeFile(file, during);
      const refused = runProcess(env);
      expect([await refused.exited, refused.output().trim()]).toEqual([
        1,
        "`npm run rewrap` was interrupted: run it again, then start the service; nothing is lost.",
      ]);
      expect(await readFile(file, "utf8")).toBe(during);
      expect((await ended(env)).code).toBe(0);
      expect(await readPatient(env, patient.id)).toMatchObject({ full_name: "Anna Muster" });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

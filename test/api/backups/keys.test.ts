// The keys of what is backed up: kept as long as a backup may need them, through every rotation, ended with the last such
// backup; and what becomes of a backup whose keys a restored database does not have.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  addressOf,
  callApi,
  demoPassword,
  eventually,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";
import { backUp, type Clinic, makePatient, openClinic, restore } from "./scene.ts";

let service: TestService;
let superadmin: string;
let clinic: Clinic;
beforeAll(async () => {
  service = await startService({ KEYS_HELD_SECONDS: "1", ROTATION_PACE_PERCENT: "100" });
  superadmin = await service.signIn("superadmin");
  clinic = await openClinic(service, superadmin);
});
afterAll(() => service?.stop());

const rows = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;

/** A rotation to its end, when everything is sealed anew. */
async function rotate(): Promise<void> {
  const body = { new_key: randomBytes(32).toString("base64") };
  const answer = await service.call("POST", "/api/admin/encryption/rotate", { token: superadmin, body });
  expect(answer.status).toBe(200);
  await eventually(async () => {
    const { body: now } = await service.call("GET", "/api/admin/encryption/status", { token: superadmin });
    return now.rotation?.status === "finished";
  });
}

const oldKeys = async () => {
  const [row] = await rows(
    `select (select count(*)::integer from data_keys where tenant_id = $1 and purpose = 'field' and state = 'decrypt_only') as data,
       (select count(*)::integer from master_keys where state = 'decrypt_only') as masters`,
    [clinic.id],
  );
  return row;
};

describe("keys of a backup", () => {
  it("stay through rotations, restore what they sealed, and end with the last backup that needs them", async () => {
    const { token } = clinic;
    const patient = await makePatient(service, token, "Sealed Long Ago");
    const [first] = await rows("select id from data_keys where tenant_id = $1 and purpose = 'field'", [
      clinic.id,
    ]);
    const made = await backUp(service, token);
    for (let nth = 0; nth < 2; nth++) await rotate();
    await service.call("DELETE", `/api/patients/${patient.id}`, { token });
    const stateOf = async (id: number) =>
      (await rows("select state from data_keys where id = $1", [id]))[0].state;
    expect(await stateOf(first.id)).toBe("decrypt_only");
    const job = await restore(service, token, made.backup_id);
    expect(job.status).toBe("succeeded");
    const again = await service.call("GET", `/api/patients/${patient.id}`, { token });
    expect(again.body.full_name).toBe("Sealed Long Ago");
    // What came back is sealed as it was; the next rotation seals it anew, and then only backups need the old keys.
    await rotate();
    expect(await oldKeys()).toMatchObject({ data: expect.any(Number) });
    expect((await oldKeys()).data).toBeGreaterThanOrEqual(2);
    const ids = [made.backup_id, String(job.safety_backup_id)];
    for (const [at, id] of ids.entries()) {
      expect((await service.call("DELETE", `/api/admin/backup/${id}`, { token })).status).toBe(200);
      await eventually(
        async () => (await rows("select from archive_keys where backup_id = $1", [id])).length === 0,
      );
      // One that is left may name it too.
      if (at === 0) expect(await stateOf(first.id)).toBe("decrypt_only");
    }
    await eventually(async () => {
      const { data, masters } = await oldKeys();
      return data === 0 && masters === 0;
    });
    expect(await stateOf(first.id)).toBe("destroyed");
    expect((await service.call("GET", `/api/patients/${patient.id}`, { token })).body.full_name).toBe(
      "Sealed Long Ago",
    );
  });
});

describe("a tenant's backup that is younger than the full one that was restored", () => {
  it("is refused with keys_unreadable, in the plan and in the job, with nothing changed", async () => {
    const { token } = clinic;
    const full = await backUp(service, superadmin);
    await rotate();
    await makePatient(service, token, "Sealed Later");
    const younger = await backUp(service, token);
    await service.database.owner.query("create database before_the_rotation");
    const settings = {
      ...service.settings,
      DATABASE_URL: service.database.postgres.url("before_the_rotation"),
    };
    const bringing = runProcess(settings, "host/restore.ts", [full.backup_id]);
    expect([await bringing.exited, bringing.output()]).toEqual([0, expect.stringContaining("are back")]);
    const running = runProcess(settings);
    try {
      const url = await addressOf(running);
      const call: TestService["call"] = (method, path, options) => callApi(url, method, path, options);
      const login = { email: clinic.admin.email, password: demoPassword, subdomain: clinic.subdomain };
      const mine = (await call("POST", "/api/auth/login", { body: login })).body.access_token;
      const body = { backup_id: younger.backup_id };
      const plan = await call("POST", "/api/admin/backup/restore", { token: mine, body });
      expect([plan.status, plan.body.code]).toEqual([409, "keys_unreadable"]);
      const patients = async () => (await call("GET", "/api/patients", { token: mine })).body.items;
      const before = await patients();
      const job = await restore({ call }, mine, younger.backup_id);
      expect(job).toMatchObject({
        status: "failed",
        error_code: "keys_unreadable",
        error: expect.stringMatching(/^The keys of the backup are missing.*nothing was changed\.$/),
      });
      expect(await patients()).toEqual(before);
    } finally {
      await running.stop();
    }
  });
});

// The night when the database is lost: an empty one, the store and BOOT_SECRET alone bring everything back.
import { createHash } from "node:crypto";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { tableDecisions } from "../../../services/backups/table-decisions.ts";
import {
  addressOf,
  callApi,
  demoPassword,
  eventually,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";
import { backUp, type Begun, type Clinic, ended, makePatient, openClinic } from "./scene.ts";

const program = "host/restore.ts";
const otherSecret = createHash("sha256").update("another").digest("base64url");

let service: TestService;
let clinic: Clinic;
let full: Begun;
let partial: Begun;
let patientId: number;
let sums: Record<string, string>;
let folder: string;

beforeAll(async () => {
  service = await startService();
  const superadmin = await service.signIn("superadmin");
  clinic = await openClinic(service, superadmin);
  patientId = (await makePatient(service, clinic.token, "Came Back", "DISASTER-1")).id;
  for (let nth = 0; nth < 30; nth++) await makePatient(service, clinic.token, `Patient ${nth}`);
  // Of what does not happen here: deliveries move as long as the service runs.
  const hook = { url: "https://example.com/hook", events: ["payment.failed"] };
  await service.call("POST", "/api/webhooks/register", { token: clinic.token, body: hook });
  // Logs are signed soon after a start: that is in the archive then.
  const signed = "select from audit_checkpoints";
  await eventually(async () => ((await service.database.owner.query(signed)).rowCount ?? 0) > 0);
  partial = await backUp(service, clinic.token);
  full = await backUp(service, superadmin);
  await service.process.stop();
  sums = await sumsOf(service.database.owner);
  folder = await mkdtemp(join(tmpdir(), "records-disaster-"));
});
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Written by the clock at any moment, so also between the backup and the service's end. */
const ofTheClock = ["audit_checkpoints", "audit_proofs", "audit_signing_keys"];

/** Of all that a full backup holds; of the platform's log and events what was there before the backup's own end. */
async function sumsOf(owner: pg.Client): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, { full: decision }] of Object.entries(tableDecisions)) {
    if (decision !== "copied" || ["audit_heads", "audit_entries", "events", "fan_out_queue"].includes(name))
      continue;
    if (ofTheClock.includes(name)) continue;
    const { rows } = await owner.query(
      `select count(*) || ' ' || md5(coalesce(string_agg(t, E'\\n' order by t), '')) as sum
       from (select (to_jsonb(t) - 'stamp')::text as t from public."${name}" t) t`,
    );
    found[name] = rows[0].sum;
  }
  const { rows } = await owner.query(
    `select count(*) || ' ' || md5(string_agg(encode(hash, 'hex'), '' order by id)) as sum from audit_entries
     where tenant_id = $1`,
    [clinic.id],
  );
  return { ...found, audit_of_the_clinic: rows[0].sum };
}

async function emptyDatabase(name: string): Promise<string> {
  await service.database.owner.query(`create database ${name}`);
  return service.database.postgres.url(name);
}

async function run(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; said: string }> {
  const running = runProcess({ ...service.settings, ...env }, program, args);
  return { code: await running.exited, said: running.output() };
}

describe("a full backup in an empty database", () => {
  it("what there is is listed, for people and for programs", async () => {
    const listed = await run(["list"], {});
    expect(listed.code).toBe(0);
    expect(listed.said).toContain(full.backup_id);
    const { items, closed } = JSON.parse((await run(["list", "--json"], {})).said);
    expect(closed).toEqual([]);
    expect(items.map((each: { backup_id: string }) => each.backup_id).sort()).toEqual(
      [full.backup_id, partial.backup_id].sort(),
    );
  });

  it("every row of every table is as it was, and the service goes on: signs in, opens what is sealed, numbers on", async () => {
    const url = await emptyDatabase("after_the_fire");
    const { code, said } = await run([full.backup_id], { DATABASE_URL: url });
    expect(said).toMatch(/rows of \S+ are back, and 2 backups are listed/);
    expect(code).toBe(0);
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    try {
      expect(await sumsOf(owner)).toEqual(sums);
      for (const name of ofTheClock) {
        const { rowCount } = await owner.query(`select from ${name}`);
        expect([name, (rowCount ?? 0) > 0]).toEqual([name, true]);
      }
      const again = await run([full.backup_id], { DATABASE_URL: url });
      expect(again.code).toBe(1);
      expect(again.said).toContain("The database is not empty");
      expect(await sumsOf(owner)).toEqual(sums);
      await goesOn(url);
    } finally {
      await owner.end();
    }
  });

  async function goesOn(url: string): Promise<void> {
    const running = runProcess({ ...service.settings, DATABASE_URL: url });
    try {
      const address = await addressOf(running);
      const call: TestService["call"] = (method, path, options) => callApi(address, method, path, options);
      expect((await call("GET", "/api/auth/me", { token: clinic.token })).status).toBe(401);
      const body = { email: clinic.admin.email, password: demoPassword, subdomain: clinic.subdomain };
      const token = (await call("POST", "/api/auth/login", { body })).body.access_token;
      const patient = await call("GET", `/api/patients/${patientId}`, { token });
      expect(patient.body.full_name).toBe("Came Back");
      const fresh = await makePatient({ call }, token, "After The Fire");
      expect(fresh.id).toBeGreaterThan(patientId);
      expect((await call("GET", "/api/admin/audit/verify", { token })).body).toMatchObject({ ok: true });
      const users = (await call("GET", "/api/admin/users", { token })).body;
      expect(users.total).toBe(users.items.length);
      const list = (await call("GET", "/api/admin/backup/list", { token })).body.items;
      expect(list).toMatchObject([{ backup_id: partial.backup_id }]);
      const restored = await call("POST", "/api/admin/backup/restore", {
        token,
        body: { backup_id: partial.backup_id, confirm: true },
      });
      expect(await ended({ call }, token, restored.body.job_id)).toMatchObject({ status: "succeeded" });
      expect((await call("GET", `/api/patients/${fresh.id}`, { token })).status).toBe(404);
    } finally {
      await running.stop();
    }
  }
});

describe("what cannot be restored is one sentence, and changes nothing", () => {
  let url: string;
  beforeAll(async () => {
    url = await emptyDatabase("untouched");
  });
  it.each([
    ["no backup", [], {}, "Name one backup"],
    ["an unknown one", ["bk_00000000000000000000000000000000"], {}, "There is no such backup"],
    ["another secret", ["FULL"], { BOOT_SECRET: otherSecret }, "BOOT_SECRET is not the one"],
    ["a tenant's", ["PARTIAL"], {}, "the backup of one tenant"],
  ] as const)("%s", async (_name, args, env, sentence) => {
    const named = args.map((arg) =>
      arg === "FULL" ? full.backup_id : arg === "PARTIAL" ? partial.backup_id : arg,
    );
    const { code, said } = await run([...named], { DATABASE_URL: url, ...env });
    expect([code, said]).toEqual([1, expect.stringContaining(sentence)]);
    expect(said.trim().split("\n")).toHaveLength(1);
  });

  it("a damaged archive", async () => {
    const data = join(folder, "data");
    await cp(join(service.settings.DATA_DIR ?? "", "backups"), join(data, "backups"), { recursive: true });
    const path = join(data, "backups", "backups", full.backup_id, "data");
    const bytes = await readFile(path);
    const at = bytes.length >> 1;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await writeFile(path, bytes);
    const { code, said } = await run([full.backup_id], { DATABASE_URL: url, DATA_DIR: data });
    expect([code, said]).toEqual([1, expect.stringContaining("Nothing was restored")]);
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    try {
      expect((await owner.query("select from tenants")).rowCount).toBe(0);
    } finally {
      await owner.end();
    }
  });
});

describe("after a change of BOOT_SECRET", () => {
  it("the new one opens what was backed up before, once the service has run", async () => {
    const url = await emptyDatabase("rewrapped");
    expect((await run([full.backup_id], { DATABASE_URL: url })).code).toBe(0);
    const rewrap = runProcess(
      { ...service.settings, DATABASE_URL: url, NEW_BOOT_SECRET: otherSecret },
      "host/rewrap.ts",
    );
    expect(await rewrap.exited).toBe(0);
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    const running = runProcess({ ...service.settings, DATABASE_URL: url, BOOT_SECRET: otherSecret });
    try {
      await addressOf(running);
      const [job] = (await owner.query("select (graphile_worker.add_job('backups.sweep')).id")).rows;
      const deadline = Date.now() + 30_000;
      while (
        (await owner.query("select from graphile_worker._private_jobs where id = $1", [job.id])).rowCount !==
        0
      )
        if (Date.now() > deadline) throw new Error("the sweep did not end");
    } finally {
      await owner.end();
      await running.stop();
    }
    const anew = await emptyDatabase("with_the_new_secret");
    const { code, said } = await run([full.backup_id], { DATABASE_URL: anew, BOOT_SECRET: otherSecret });
    expect(said).toContain("are back");
    expect(code).toBe(0);
  });
});

// Rotating the master key of a running service: effective at once, everything sealed anew, old keys gone at the end.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeUser, unique } from "../../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: { id: number; token: string };
beforeAll(async () => {
  service = await startService({ KEYS_HELD_SECONDS: "1", ROTATION_PACE_PERCENT: "100" });
  superadmin = await service.signIn("superadmin");
  clinic = await freshClinic();
});
afterAll(() => service.stop());

const rowsOf = async (sql: string, values: unknown[] = []) =>
  (await service.database.owner.query(sql, values)).rows;

async function freshClinic() {
  const { id, token, subdomain } = await makeClinic(service, superadmin);
  const { email } = await makeUser(service, token, { can_see_all_patients: true });
  return { id, token: await service.signInAs(email, subdomain) };
}
const texts = { full_name: "Anna Muster", birth_date: "1971-02-03", phone: "+49301234", notes: "allergic" };
const create = async (more = {}, { token } = clinic) => {
  const body = { record_number: unique("R-"), ...texts, ...more };
  const answer = await service.call("POST", "/api/patients", { token, body });
  expect(answer.status).toBe(201);
  return answer.body;
};
const read = async (id: number, { token } = clinic) =>
  (await service.call("GET", `/api/patients/${id}`, { token })).body;
const newKey = () => randomBytes(32).toString("base64");
const rotate = (new_key: unknown, token = superadmin) =>
  service.call("POST", "/api/admin/encryption/rotate", { token, body: { new_key } });
const status = async () =>
  (await service.call("GET", "/api/admin/encryption/status", { token: superadmin })).body;
const finished = () =>
  eventually(async () => {
    const now = await status();
    return now.rotation?.status === "finished" && now;
  });
const keyIdsOf = async (tenantId: number) =>
  (
    await rowsOf(
      `select distinct substring(sealed from 2 for 4) as id from patients,
         unnest(array[identity, notes]) sealed where tenant_id = $1 and length(sealed) > 20
       union select distinct substring(body from 2 for 4) from patient_records where tenant_id = $1`,
      [tenantId],
    )
  ).map(({ id }) => id.readUInt32BE());

describe("a rotation", () => {
  it("is effective with the answer, and finishes by itself with every row under a new key", async () => {
    const patients = [];
    for (let i = 0; i < 30; i++) patients.push(await create({ full_name: `Person ${i}` }));
    const path = `/api/patients/${patients[0].id}/records`;
    const record = { kind: "finding", body: "all is well" };
    await service.call("POST", path, { token: clinic.token, body: record });
    const [old] = await keyIdsOf(clinic.id);
    const { status: code, body } = await rotate(newKey());
    expect([code, body]).toEqual([
      200,
      {
        job_id: expect.stringMatching(/^\d+$/),
        key_version: 2,
        previous_version: 1,
        status: "running",
        rewrapped: 2,
        rows_total: 31,
        rows_done: 0,
      },
    ]);
    expect(await rowsOf("select distinct master_version from data_keys where state <> 'destroyed'")).toEqual([
      { master_version: 2 },
    ]);
    for (const patient of patients) expect(await read(patient.id)).toEqual(patient);

    const end = await finished();
    expect(end).toMatchObject({
      key_version: 2,
      rotation: { job_id: body.job_id, rows_total: 31, rows_done: 31, tenants_total: 1, tenants_done: 1 },
      keys: { primary: 2, decrypt_only: 0, destroyed: 1 },
      quarantined: { count: 0, first: [] },
    });
    const ids = await keyIdsOf(clinic.id);
    expect(ids).toHaveLength(1);
    expect(ids).not.toEqual([old]);
    for (const patient of patients) expect(await read(patient.id)).toEqual(patient);
    const records = await service.call("GET", path, { token: clinic.token });
    expect(records.body.items[0]).toMatchObject(record);
  });

  it("destroys the old keys: their bytes are gone from the tables, their fingerprints stay", async () => {
    expect(
      await rowsOf("select version, state, wrapped is null as gone from master_keys order by version"),
    ).toEqual([
      { version: 1, state: "destroyed", gone: true },
      { version: 2, state: "primary", gone: false },
    ]);
    const destroyed = await rowsOf("select wrapped from data_keys where state = 'destroyed'");
    expect(destroyed).toEqual([{ wrapped: null }]);
  });

  it("is in the audit log and the outbox, without the key", async () => {
    const entries = await rowsOf(
      `select action, changes from audit_entries where action in ('encryption.rotate', 'encryption.finish_rotation',
         'encryption.destroy_key') order by id`,
    );
    const fingerprint = expect.stringMatching(/^[0-9a-f]{16}$/);
    const done = { key_version: 2, previous_version: 1, rows_done: 31 };
    expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
      ["encryption.rotate", { key_version: 2, previous_version: 1, fingerprint, rewrapped: 2 }],
      ["encryption.destroy_key", {}],
      ["encryption.finish_rotation", { ...done, destroyed_versions: [1] }],
    ]);
    const events = await rowsOf("select payload from events where kind = 'encryption.rotated'");
    expect(events.map(({ payload }) => payload)).toEqual([done]);
  });

  it("shows in health", async () => {
    const { body } = await service.call("GET", "/api/admin/health", { token: superadmin });
    expect(body).toMatchObject({
      key_version: 2,
      rotation: { status: "finished", rows_total: 31, rows_done: 31 },
    });
  });

  it("does not hinder finding by name and phone", async () => {
    const { id } = await create({ full_name: "Findable Name", phone: "+49 30 777" });
    const found = async (search: string) =>
      (
        await service.call("GET", `/api/patients?search=${encodeURIComponent(search)}`, {
          token: clinic.token,
        })
      ).body.items.map((each: { id: number }) => each.id);
    await rotate(newKey());
    expect(await found("findable name")).toEqual([id]);
    await finished();
    expect([await found("findable name"), await found("+4930777")]).toEqual([[id], [id]]);
  });
});

describe("refused", () => {
  it.each([
    ["nothing", undefined, "missing"],
    ["a number", 5, "string_type"],
    ["too short a key", "abc", "value_error"],
    ["a key without chance", "00".repeat(32), "value_error"],
  ])("with %s: 422", async (_what, key, type) => {
    const { status: code, body } = await rotate(key);
    expect([code, body.detail[0].type, body.detail[0].loc]).toEqual([422, type, ["body", "new_key"]]);
  });

  it("with a key that was used before, also one that is destroyed: 422, whatever form it has", async () => {
    const key = randomBytes(32);
    expect((await rotate(key.toString("hex"))).status).toBe(200);
    await finished();
    for (const form of ["hex", "base64", "base64url"] as const) {
      const { status: code, body } = await rotate(key.toString(form));
      expect([code, body.detail[0].msg]).toEqual([422, "Value error, the key was used before"]);
    }
    expect((await rotate(newKey())).status).toBe(200);
    // The same while a rotation is under way, which is told of a key that could be taken.
    expect((await rotate(key.toString("hex"))).status).toBe(422);
    expect((await rotate(newKey())).body.code).toBe("rotation_running");
    await finished();
    expect((await rotate(key.toString("hex"))).status).toBe(422);
  });

  it("while one is under way: 409, and of ten at once one begins", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => rotate(newKey())));
    expect(answers.map(({ status: code }) => code).sort()).toEqual([200, ...Array(9).fill(409)]);
    expect(answers.find(({ status: code }) => code === 409)?.body.code).toBe("rotation_running");
    await finished();
  });

  it("to everybody but superadmins: 401, 403", async () => {
    for (const token of [clinic.token, await service.signIn("admin"), await service.signIn("head_doctor")]) {
      expect((await rotate(newKey(), token)).status).toBe(403);
      expect((await service.call("GET", "/api/admin/encryption/status", { token })).status).toBe(403);
    }
    const anonymous = await service.call("POST", "/api/admin/encryption/rotate", { body: {} });
    expect(anonymous.status).toBe(401);
  });

  it("no key that was sent is in a log, an answer or a table", async () => {
    const keys = [newKey(), "1f".repeat(31), randomBytes(32).toString("hex")];
    for (const key of keys) {
      const { body } = await rotate(key);
      expect(JSON.stringify(body)).not.toContain(key);
      await finished();
    }
    for (const key of keys) {
      const raw = Buffer.from(key, key.length === 64 ? "hex" : "base64").toString("hex");
      for (const form of [key, raw]) {
        expect(service.process.output()).not.toContain(form);
        for (const table of ["audit_entries", "events", "rotations", "master_keys", "graphile_worker.jobs"])
          expect(await rowsOf(`select from ${table} t where t::text like '%' || $1 || '%'`, [form])).toEqual(
            [],
          );
      }
    }
  });
});

describe("fields that do not open", () => {
  it("stop nothing, are reported, and keep the key they name", async () => {
    const good = await create({ full_name: "Stays Readable" });
    const [broken, garbage] = [await create(), await create()];
    await rowsOf(
      "update patients set notes = overlay(notes placing '\\xff' from 25) where tenant_id = $1 and id = $2",
      [clinic.id, broken.id],
    );
    await rowsOf("update patients set identity = '\\x0102' where tenant_id = $1 and id = $2", [
      clinic.id,
      garbage.id,
    ]);
    const [old] = await keyIdsOf(clinic.id);
    await rotate(newKey());
    const { quarantined, keys } = await finished();
    const place = { tenant_id: clinic.id, table: "patients" };
    expect(quarantined).toEqual({
      count: 2,
      first: [
        { ...place, row_id: broken.id, column: "notes", key_id: old, reason: "authentication" },
        { ...place, row_id: garbage.id, column: "identity", key_id: null, reason: "format" },
      ],
    });
    expect(keys.decrypt_only).toBe(1);
    expect(await read(good.id)).toEqual(good);
    expect((await read(broken.id)).code).toBe("sealed_field_unreadable");

    for (const { id } of [broken, garbage]) {
      const body = { version: 1, ...texts, notes: "written anew", phone: "+4911" };
      const answer = await service.call("PUT", `/api/patients/${id}`, { token: clinic.token, body });
      expect(answer.status).toBe(200);
    }
    await rotate(newKey());
    const healed = await finished();
    expect(healed.quarantined.count).toBe(0);
    expect(healed.keys.decrypt_only).toBe(0);
  });
});

describe("together with writers", () => {
  it("overwrites nothing: every patient is what its last writer made it", async () => {
    const patients: { id: number }[] = [];
    for (let i = 0; i < 40; i++) patients.push(await create());
    const last = new Map<number, string>();
    const written = new AbortController();
    const writer = async (mine: readonly { id: number }[]) => {
      for (let round = 1; !written.signal.aborted; round++) {
        for (const { id } of mine) {
          const notes = `round ${round}`;
          const answer = await service.call("PUT", `/api/patients/${id}`, {
            token: clinic.token,
            body: { version: round, notes },
          });
          expect([id, round, answer.status]).toEqual([id, round, 200]);
          last.set(id, notes);
        }
      }
    };
    const writers = [writer(patients.slice(0, 20)), writer(patients.slice(20))];
    await rotate(newKey());
    await finished();
    written.abort();
    await Promise.all(writers);
    for (const { id } of patients) expect((await read(id)).notes).toBe(last.get(id));
    expect(await keyIdsOf(clinic.id)).toHaveLength(1);
  });

  it("a late hand cannot write under a destroyed key: 503, and nothing is written", async () => {
    const [{ id: gone }] = await rowsOf(
      "select id from data_keys where tenant_id = $1 and state = 'destroyed' order by id desc limit 1",
      [clinic.id],
    );
    const sealed = Buffer.concat([Buffer.from([1]), Buffer.alloc(4), Buffer.alloc(40)]);
    sealed.writeUInt32BE(gone, 1);
    const { id } = await create();
    await rowsOf("begin");
    try {
      await rowsOf("select set_config('app.tenant_id', $1, true)", [String(clinic.id)]);
      await expect(
        rowsOf("update patients set notes = $1 where tenant_id = $2 and id = $3", [sealed, clinic.id, id]),
      ).rejects.toMatchObject({ code: "RK001" });
    } finally {
      await rowsOf("rollback");
    }
  });
});

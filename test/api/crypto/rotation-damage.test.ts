// Rotations over what is damaged: they finish, say what does not open, keep its key and no other, and end that key too
// when nothing needs it any more. What is wrong with one tenant holds up no other.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeUser, unique } from "../../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: { id: number; token: string };
beforeAll(async () => {
  service = await startService({ KEYS_HELD_SECONDS: "1", ROTATION_PACE_PERCENT: "100" });
  superadmin = await service.signIn("superadmin");
});
beforeEach(async () => {
  clinic = await freshClinic();
});
afterAll(() => service.stop());

async function freshClinic() {
  const { id, token, subdomain } = await makeClinic(service, superadmin);
  const { email } = await makeUser(service, token, { can_see_all_patients: true });
  return { id, token: await service.signInAs(email, subdomain) };
}
const query = async (sql: string, values: unknown[] = []) =>
  (await service.database.owner.query(sql, values)).rows;
const texts = { full_name: "Anna Muster", birth_date: "1971-02-03", phone: "+49301234", notes: "allergic" };
const create = async ({ token } = clinic) => {
  const body = { record_number: unique("R-"), ...texts };
  const answer = await service.call("POST", "/api/patients", { token, body });
  expect(answer.status).toBe(201);
  return answer.body;
};
const mend = (id: number) =>
  service.call("PUT", `/api/patients/${id}`, {
    token: clinic.token,
    body: { ...texts, version: 1, notes: "written anew", phone: "+4911" },
  });
const rotate = async () => {
  const body = { new_key: randomBytes(32).toString("base64") };
  const answer = await service.call("POST", "/api/admin/encryption/rotate", { token: superadmin, body });
  expect(answer.status).toBe(200);
  return answer.body;
};
const status = async () =>
  (await service.call("GET", "/api/admin/encryption/status", { token: superadmin })).body;
const finished = () =>
  eventually(async () => {
    const now = await status();
    return now.rotation?.status === "finished" && now;
  });

describe("a field", () => {
  it.each([
    ["of another version", "overlay(notes placing '\\x02' from 1)", "format"],
    ["cut short behind its key's id", "substring(notes from 1 for 20)", "format"],
    ["cut short before its key's id", "substring(notes from 1 for 3)", "format"],
    ["that names a key beyond all numbers", "overlay(notes placing '\\xff' from 2)", "key"],
    ["that names a key that never was", "overlay(notes placing '\\x00ffffff' from 2)", "key"],
    ["of altered text", "overlay(notes placing '\\xff' from 25)", "authentication"],
  ])(
    "%s is reported, the rotation finishes, and its key ends when it is mended",
    async (_what, damage, reason) => {
      const [good, bad] = [await create(), await create()];
      await query(`update patients set notes = ${damage} where tenant_id = $1 and id = $2`, [
        clinic.id,
        bad.id,
      ]);
      const begun = await rotate();
      const { rotation, keys, quarantined } = await finished();
      expect(quarantined).toMatchObject({ count: 1, first: [{ row_id: bad.id, column: "notes", reason }] });
      // The damaged patient's identity is sealed anew, once; its notes are left alone.
      expect(rotation).toMatchObject({ rows_done: begun.rows_total, rows_total: begun.rows_total });
      expect((await service.call("GET", `/api/patients/${good.id}`, { token: clinic.token })).body).toEqual(
        good,
      );
      expect(keys.decrypt_only).toBeLessThanOrEqual(1);

      expect((await mend(bad.id)).status).toBe(200);
      await eventually(async () => {
        const now = await status();
        return now.quarantined.count === 0 && now.keys.decrypt_only === 0;
      });
      expect(await query("select from master_keys where state = 'decrypt_only'")).toEqual([]);
    },
  );
});

it("a tenant that cannot be walked holds up no other; the rotation finishes when it can be", async () => {
  await create();
  const other = await freshClinic();
  await create(other);
  await query(`
    create function refuse_sealing() returns trigger language plpgsql as
      $$ begin raise exception 'out of order'; end $$;
    create trigger refuse_sealing before update of identity on patients for each row
      when (new.tenant_id = ${clinic.id}) execute function refuse_sealing()`);
  await rotate();
  const left = async () => {
    const { rotation } = await status();
    return rotation.tenants_total - rotation.tenants_done;
  };
  await eventually(async () => (await left()) === 1);
  expect((await status()).rotation.status).toBe("running");
  await query("drop trigger refuse_sealing on patients; drop function refuse_sealing()");
  await finished();
  expect(await left()).toBe(0);
  expect(service.process.output()).toContain("leaves a tenant for later");
});

it("few rows to be sealed among many are found by looks of bounded length", async () => {
  const patient = await create();
  // Sealed by nobody; they name the key that the next rotation makes, so they are not walked.
  const [next] = await query("select max(id) + 1 as id from data_keys");
  const [{ is_called: called }] = await query("select is_called from data_keys_id_seq");
  expect(called).toBe(true);
  await query(
    `insert into patient_records (tenant_id, patient_id, kind, body)
     select $1, $2, 'x', '\\x01'::bytea || int4send($3 + (n % 2)) || decode(repeat('00', 40), 'hex') from generate_series(1, 9000) n`,
    [clinic.id, patient.id, Number(next.id)],
  );
  const last = await service.call("POST", `/api/patients/${patient.id}/records`, {
    token: clinic.token,
    body: { kind: "visit", body: "the last of them" },
  });
  expect(last.status).toBe(201);
  await rotate();
  const { keys } = await finished();
  const [{ named }] = await query(
    "select substring(body from 2 for 4) as named from patient_records where id = $1",
    [last.body.id],
  );
  const [{ id: primary }] = await query(
    "select id from data_keys where tenant_id = $1 and purpose = 'field' and state = 'primary'",
    [clinic.id],
  );
  expect(named.readUInt32BE()).toBe(Number(primary));
  expect(keys.decrypt_only).toBe(0);
});

it("old keys are held from when a rotation can be seen, however long it took to begin", async () => {
  await create();
  const { owner } = service.database;
  await owner.query("begin");
  await owner.query("select pg_advisory_xact_lock_shared(hashtext('crypto.master_keys'))");
  const begun = rotate();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await owner.query("commit");
  await begun;
  const { rotation } = await finished();
  expect(rotation.eta_seconds).toBeNull();
  // One second for processes, three for their requests.
  const [times] = await query(
    `select seen_at - started_at >= interval '1 second' as slow, finished_at - seen_at >= interval '4 seconds' as held
     from rotations where id = $1`,
    [Number(rotation.job_id)],
  );
  expect(times).toEqual({ slow: true, held: true });
});

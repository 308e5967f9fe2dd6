// One wrapped data key of one tenant is damaged in the database: what it sealed is lost, and nothing else is.
import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeUser, unique } from "../../support/tenancy.ts";

interface Clinic {
  id: number;
  token: string;
}

let service: TestService;
let superadmin: string;
let damaged: Clinic;
let other: Clinic;
beforeAll(async () => {
  service = await startService({ KEYS_HELD_SECONDS: "1", ROTATION_PACE_PERCENT: "100" });
  superadmin = await service.signIn("superadmin");
  [damaged, other] = [await freshClinic(), await freshClinic()];
});
afterAll(() => service.stop());

const rowsOf = async (sql: string, values: unknown[] = []) =>
  (await service.database.owner.query(sql, values)).rows;

async function freshClinic(): Promise<Clinic> {
  const { id, token, subdomain } = await makeClinic(service, superadmin);
  const { email } = await makeUser(service, token, { can_see_all_patients: true });
  return { id, token: await service.signInAs(email, subdomain) };
}
const post = ({ token }: Clinic) =>
  service.call("POST", "/api/patients", {
    token,
    body: { record_number: unique("R-"), full_name: "Anna Muster", notes: "allergic" },
  });
const create = async (clinic: Clinic) => {
  const answer = await post(clinic);
  expect(answer.status).toBe(201);
  return answer.body;
};
const read = async (id: number, { token }: Clinic) =>
  (await service.call("GET", `/api/patients/${id}`, { token })).body;
const rotate = () =>
  service.call("POST", "/api/admin/encryption/rotate", {
    token: superadmin,
    body: { new_key: randomBytes(32).toString("base64") },
  });
const finished = () =>
  eventually(async () => {
    const { body } = await service.call("GET", "/api/admin/encryption/status", { token: superadmin });
    return body.rotation?.status === "finished" && body;
  });
const fieldKey = async ({ id }: Clinic): Promise<number> =>
  (
    await rowsOf(
      "select id from data_keys where tenant_id = $1 and purpose = 'field' and state = 'primary'",
      [id],
    )
  )[0].id;
const xorLastByte = (id: number) =>
  rowsOf("update data_keys set wrapped = set_byte(wrapped, 60, get_byte(wrapped, 60) # 255) where id = $1", [
    id,
  ]);
/** Every process has let go of the keys it held. */
const letGo = () => pause(1_200);
const alive = async () => (await rowsOf("select from data_keys where state <> 'destroyed'")).length;

describe("a damaged key that seals no more", () => {
  it("costs the fields it sealed, stops no rotation, and is kept for whoever can mend it", async () => {
    const lost = await create(damaged);
    const key = await fieldKey(damaged);
    await rowsOf("update data_keys set state = 'decrypt_only', demoted_at = now() where id = $1", [key]);
    await letGo();
    const [healthy, theirs] = [await create(damaged), await create(other)];
    await xorLastByte(key);
    await letGo();
    const undisturbed = async () => {
      expect((await read(lost.id, damaged)).code).toBe("sealed_field_unreadable");
      expect(await read(healthy.id, damaged)).toEqual(healthy);
      expect(await read(theirs.id, other)).toEqual(theirs);
    };
    await undisturbed();
    const { status, body } = await rotate();
    expect([status, body.rewrapped]).toEqual([200, (await alive()) - 3]);
    await undisturbed();

    const { quarantined, keys } = await finished();
    const place = { tenant_id: damaged.id, table: "patients", row_id: lost.id, key_id: key, reason: "key" };
    expect(quarantined).toEqual({
      count: 2,
      first: [
        { ...place, column: "identity" },
        { ...place, column: "notes" },
      ],
    });
    expect(keys.decrypt_only).toBe(1);
    await undisturbed();
    expect(service.process.output()).toMatch(new RegExp(`"tenantId":${damaged.id},"keyId":${key}\\b`));
    expect(await rowsOf("select master_version as v from data_keys where id = $1", [key])).toEqual([
      { v: body.previous_version },
    ]);

    await xorLastByte(key);
    await letGo();
    expect(await read(lost.id, damaged)).toEqual(lost);
    expect((await rotate()).status).toBe(200);
    const healed = await finished();
    expect([healed.quarantined.count, healed.keys.decrypt_only]).toEqual([0, 0]);
    expect(await read(lost.id, damaged)).toEqual(lost);
    expect(await rowsOf("select from master_keys where state <> 'destroyed'")).toHaveLength(1);
  });
});

describe("a damaged key that seals", () => {
  it("is 503 for its tenant alone, until a rotation gives another", async () => {
    const [lost, theirs] = [await create(damaged), await create(other)];
    await xorLastByte(await fieldKey(damaged));
    await letGo();
    const refused = await post(damaged);
    expect([refused.status, refused.body.code]).toEqual([503, "keys_unreadable"]);
    expect(await read(theirs.id, other)).toEqual(theirs);
    const { status, body } = await rotate();
    expect([status, body.rewrapped]).toEqual([200, (await alive()) - 3]);
    const { id } = await create(damaged);
    expect((await read(id, damaged)).full_name).toBe("Anna Muster");
    expect((await read(lost.id, damaged)).code).toBe("sealed_field_unreadable");
    expect(await read(theirs.id, other)).toEqual(theirs);
  });
});

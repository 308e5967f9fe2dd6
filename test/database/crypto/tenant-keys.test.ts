// The crypto service's one action on a real database, without a service around it: what a client cannot bring about.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ensureMasterKey } from "../../../services/crypto/master-keys.ts";
import { readKeys } from "../../../services/crypto/tenant-keys.ts";
import { masterFingerprint, wrapMasterKey } from "../../../services/shared/sealing/wrapping.ts";
import { boot, type KeyringScene, openKeyring } from "../../support/keyring-scene.ts";

let keyring: KeyringScene;
beforeAll(async () => {
  keyring = await openKeyring();
});
afterAll(() => keyring.stop());

const rowsOf = (sql: string, values: unknown[] = []) => keyring.rowsOf(sql, values);
const ask = (tenantId: number, wornKeyId?: number) => keyring.ask(tenantId, wornKeyId);
const summary = ({ keys }: Awaited<ReturnType<typeof ask>>) =>
  keys.map(({ purpose, state }) => `${purpose} ${state}`);

describe("the keys of a tenant", () => {
  it("are the same for all who ask first at once, and for whoever asks later", async () => {
    const tenantId = await keyring.freshTenant();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(tenantId)));
    expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(await ask(tenantId)).toEqual(answers[0]);
    expect(answers[0]?.keys.map(({ key }) => Buffer.from(key, "base64").length)).toEqual([32, 32]);
    expect(await rowsOf("select from data_keys where tenant_id = $1", [tenantId])).toHaveLength(2);
  });

  it("a worn one is followed by one other, however many say so, and still opens", async () => {
    const tenantId = await keyring.freshTenant();
    const first = await ask(tenantId);
    const worn = first.keys.find(({ purpose }) => purpose === "field");
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(tenantId, worn?.id)));
    for (const answer of answers) {
      expect(summary(answer).sort()).toEqual(["field decrypt_only", "field primary", "index primary"]);
      expect(answer.keys).toContainEqual({ ...worn, state: "decrypt_only" });
    }
    expect(await rowsOf("select from data_keys where tenant_id = $1", [tenantId])).toHaveLength(3);
    expect(await ask(tenantId, worn?.id)).toEqual(answers[0]);
  });

  it("nobody wears out an index key or another tenant's", async () => {
    const [tenantId, other] = [await keyring.freshTenant(), await keyring.freshTenant()];
    const { keys } = await ask(tenantId);
    const theirs = (await ask(other)).keys;
    const index = keys.find(({ purpose }) => purpose === "index");
    await ask(tenantId, index?.id);
    for (const { id } of theirs) await ask(tenantId, id);
    expect(await ask(tenantId)).toEqual({ keys });
    expect(await ask(other)).toEqual({ keys: theirs });
  });

  it("destroyed ones are not among them", async () => {
    const tenantId = await keyring.freshTenant();
    const { keys } = await ask(tenantId);
    const worn = keys.find(({ purpose }) => purpose === "field")?.id;
    await ask(tenantId, worn);
    await rowsOf("update data_keys set state = 'destroyed', wrapped = null where id = $1", [worn]);
    expect((await ask(tenantId)).keys.map(({ id }) => id)).not.toContain(worn);
  });

  it.each([
    ["deleted", "update tenants set deleted_at = now() where id = $1"],
    ["purged", "delete from tenants where id = $1"],
  ])("of a %s tenant are not made", async (_what, sql) => {
    const tenantId = await keyring.freshTenant();
    await rowsOf(sql, [tenantId]);
    await expect(ask(tenantId)).rejects.toMatchObject({ code: 404 });
    expect(await rowsOf("select from data_keys where tenant_id = $1", [tenantId])).toEqual([]);
  });

  it.each([
    [
      "another tenant's",
      "update data_keys d set wrapped = o.wrapped from data_keys o where d.tenant_id = $1 and o.tenant_id = $2",
    ],
    ["cut short", "update data_keys set wrapped = substr(wrapped, 2) where tenant_id = $1 and $2 > 0"],
  ])("that are %s are 503, not somebody's", async (_what, sql) => {
    const [tenantId, other] = [await keyring.freshTenant(), await keyring.freshTenant()];
    await ask(tenantId);
    await ask(other);
    await rowsOf(sql, [tenantId, other]);
    await expect(ask(tenantId)).rejects.toMatchObject({ code: 503, type: "keys_unreadable" });
  });

  it("a broken one that only opens is left out, and logged by its id", async () => {
    const tenantId = await keyring.freshTenant();
    const worn = (await ask(tenantId)).keys.find(({ purpose }) => purpose === "field")?.id ?? 0;
    const { keys } = await ask(tenantId, worn);
    const old = await keyring.damage(worn);
    expect(await readKeys(keyring.runtime, tenantId)).toEqual(keys.filter(({ id }) => id !== worn));
    expect(keyring.logged.at(-1)).toMatchObject({
      tenantId,
      keyId: worn,
      purpose: "field",
      state: "decrypt_only",
    });
    expect(JSON.stringify(keyring.logged)).not.toMatch(new RegExp(old.toString("hex")));
  });

  it.each(["field", "index"])("a broken %s key that is in use leaves none: 503", async (purpose) => {
    const tenantId = await keyring.freshTenant();
    const id = (await ask(tenantId)).keys.find((each) => each.purpose === purpose)?.id ?? 0;
    await keyring.damage(id);
    await expect(ask(tenantId)).rejects.toMatchObject({ code: 503, type: "keys_unreadable" });
    await expect(readKeys(keyring.runtime, tenantId)).rejects.toMatchObject({
      code: 503,
      type: "keys_unreadable",
    });
    expect(keyring.logged.at(-1)).toMatchObject({ tenantId, keyId: id, purpose, state: "primary" });
  });

  it("are wrapped by the primary master key; under an earlier one they still open", async () => {
    const before = await keyring.freshTenant();
    const { keys } = await ask(before);
    const key = randomBytes(32);
    await rowsOf("update master_keys set state = 'decrypt_only'");
    await rowsOf(
      "insert into master_keys (version, wrapped, fingerprint, state) values (2, $1, $2, 'primary')",
      [wrapMasterKey(boot, 2, key), masterFingerprint(key)],
    );
    const after = await keyring.freshTenant();
    await ask(after);
    expect(
      await rowsOf("select distinct master_version as v from data_keys where tenant_id = $1", [after]),
    ).toEqual([{ v: 2 }]);
    expect(await ask(before)).toEqual({ keys });
  });
});

describe("the first master key", () => {
  it("is made once, however many processes start", async () => {
    await Promise.all(Array.from({ length: 5 }, () => ensureMasterKey(keyring.runtime)));
    expect(await rowsOf("select from master_keys where version = 1")).toHaveLength(1);
    expect(await rowsOf("select from master_keys where state = 'primary'")).toHaveLength(1);
  });

  it("equal ones are refused by their fingerprint", async () => {
    const again = `insert into master_keys (version, wrapped, fingerprint, state)
      select 9, wrapped, fingerprint, 'decrypt_only' from master_keys where version = 1`;
    await expect(rowsOf(again)).rejects.toMatchObject({ constraint: "master_keys_fingerprint_key" });
  });
});

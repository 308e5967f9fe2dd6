// Wrapping data keys anew on a real database, without a service around it: also where one of them is damaged.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { rewrapDataKeys } from "../../../services/crypto/rewrap-keys.ts";
import { Caller } from "../../../services/shared/caller.ts";
import { platform } from "../../../services/shared/database/scope.ts";
import {
  masterFingerprint,
  unwrapMasterKey,
  wrapMasterKey,
} from "../../../services/shared/sealing/wrapping.ts";
import { boot, type KeyringScene, openKeyring } from "../../support/keyring-scene.ts";

let keyring: KeyringScene;
beforeAll(async () => {
  keyring = await openKeyring();
});
afterAll(() => keyring.stop());

const rowsOf = (sql: string, values: unknown[] = []) => keyring.rowsOf(sql, values);
const ask = (tenantId: number) => keyring.ask(tenantId);

describe("wrapping all keys anew", () => {
  const freshMaster = async () => {
    const [{ version }] = await rowsOf("select max(version) + 1 as version from master_keys");
    const key = randomBytes(32);
    const wrapped = wrapMasterKey(boot, version, key);
    await rowsOf(
      "insert into master_keys (version, wrapped, fingerprint, state) values ($1, $2, $3, 'decrypt_only')",
      [version, wrapped, masterFingerprint(key)],
    );
    return { version, key: unwrapMasterKey(boot, version, wrapped) };
  };
  const rewrap = (fresh: Awaited<ReturnType<typeof freshMaster>>) =>
    keyring.runtime.database.change(platform, Caller.system("crypto"), (change) =>
      rewrapDataKeys(change, boot, fresh, keyring.runtime.log),
    );

  it("leaves a key that does not open as it is, counts the others, and names it in the log", async () => {
    const [tenantId, other] = [await keyring.freshTenant(), await keyring.freshTenant()];
    const theirs = (await ask(other)).keys;
    const index = (await ask(tenantId)).keys.find(({ purpose }) => purpose === "index")?.id ?? 0;
    await keyring.damage(index);
    const row = "select wrapped, master_version from data_keys where id = $1";
    const before = await rowsOf(row, [index]);
    const fresh = await freshMaster();
    const rewrapped = await rewrap(fresh);
    expect(await rowsOf(row, [index])).toEqual(before);
    expect(await ask(other)).toEqual({ keys: theirs });
    const [counted] = await rowsOf(
      "select count(*)::integer as n from data_keys where master_version = $1 and state <> 'destroyed'",
      [fresh.version],
    );
    expect(rewrapped).toBe(counted.n);
    expect(keyring.logged).toContainEqual(
      expect.objectContaining({ tenantId, keyId: index, msg: expect.stringContaining("wrapped anew") }),
    );
  });

  it("is refused when a master key does not open, and nothing is written", async () => {
    await ask(await keyring.freshTenant());
    const broken = "update master_keys set wrapped = set_byte(wrapped, 60, get_byte(wrapped, 60) # 255)";
    const before = await rowsOf("select id, wrapped from data_keys order by id");
    const fresh = await freshMaster();
    await rowsOf(`${broken} where version < $1`, [fresh.version]);
    await expect(rewrap(fresh)).rejects.toMatchObject({ code: 503, type: "keys_unreadable" });
    expect(await rowsOf("select id, wrapped from data_keys order by id")).toEqual(before);
    await rowsOf(`${broken} where version < $1`, [fresh.version]);
  });
});

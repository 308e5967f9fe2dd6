// Sealed text: against vectors made by another program, and everything that must not open.
import { createSecretKey, randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import {
  blindIndex,
  normaliseName,
  normalisePhone,
} from "../../../../../services/shared/sealing/blind-index.ts";
import { keyIdOf, open, seal } from "../../../../../services/shared/sealing/ciphertext.ts";
import { type KeyOnWire, TenantKeys } from "../../../../../services/shared/sealing/tenant-keys.ts";
import {
  assertBootSecretOpens,
  masterFingerprint,
  unwrapDataKey,
  unwrapMasterKey,
  wrapDataKey,
  wrapMasterKey,
} from "../../../../../services/shared/sealing/wrapping.ts";

const counting = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
const key = createSecretKey(counting);
const place = Buffer.from("3|patients|full_name|41");
const name = "Ada Lovelace, Zürich";
/** Made with Python's cryptography: key 00..1f, nonce 00..0b, key id 7. */
const vector =
  "0100000007000102030405060708090a0b0666b73b898ab47ee120f4ee9dc922ae3fa4ee5798cf51d353921bf77a07b6be48d5473483";

describe("a ciphertext", () => {
  it("of another program opens", () => {
    const sealed = Buffer.from(vector, "hex");
    expect(keyIdOf(sealed)).toBe(7);
    expect(open(key, place, sealed)).toBe(name);
  });

  it.each(["", "a", name, "👩‍⚕️".repeat(500), "x".repeat(100_000)])(
    "of %# opens to what was sealed",
    (text) => {
      const sealed = seal(4_294_967_295, key, place, text);
      expect(sealed.length).toBe(1 + 4 + 12 + Buffer.byteLength(text) + 16);
      expect([keyIdOf(sealed), open(key, place, sealed)]).toEqual([4_294_967_295, text]);
    },
  );

  it("is never the same twice, and no nonce returns among 5,000", () => {
    const nonces = Array.from({ length: 5_000 }, () =>
      seal(1, key, place, "same").subarray(5, 17).toString("hex"),
    );
    expect(new Set(nonces).size).toBe(nonces.length);
  });

  it("opens with no bit of it changed", () => {
    const sealed = Buffer.from(vector, "hex");
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      // The key id only says which key to take: what is bound is the key.
      if (bit >= 8 && bit < 40) continue;
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => open(key, place, changed)).toThrow(/does not open/);
    }
  });

  it("opens with no byte too few or too many", () => {
    const sealed = Buffer.from(vector, "hex");
    for (let length = 0; length < sealed.length; length++) {
      expect(() => open(key, place, sealed.subarray(0, length))).toThrow(/does not open/);
    }
    expect(() => open(key, place, Buffer.concat([sealed, Buffer.alloc(1)]))).toThrow(/does not open/);
  });
});

describe("a tenant's keys", () => {
  const wired = (
    id: number,
    purpose: KeyOnWire["purpose"],
    state: KeyOnWire["state"] = "primary",
  ): KeyOnWire => ({
    id,
    purpose,
    state,
    key: randomBytes(32).toString("base64"),
  });
  const keys = [wired(1, "field"), wired(2, "index")];
  const of = (tenantId: number, those = keys) => new TenantKeys(tenantId, those, () => ({ seals: 0 }));
  const sealed = of(3).seal("patients", "identity", 41, name);

  it("open what they sealed", () => {
    expect(of(3).open("patients", "identity", 41, sealed)).toBe(name);
  });

  it.each([
    ["row", () => of(3).open("patients", "identity", 42, sealed)],
    ["column", () => of(3).open("patients", "notes", 41, sealed)],
    ["table", () => of(3).open("patient_records", "body", 41, sealed)],
    ["tenant", () => of(4).open("patients", "identity", 41, sealed)],
    ["row whose number begins alike", () => of(3).open("patients", "identity", 4, sealed)],
  ])("do not open it in another %s", (_what, opening) => {
    expect(opening).toThrow(expect.objectContaining({ name: "SealBroken", reason: "authentication" }));
  });

  it("say when the key is not among them, and when the bytes are none of ours", () => {
    const others = of(3, [wired(8, "field"), wired(9, "index")]);
    expect(() => others.open("patients", "identity", 41, sealed)).toThrow(
      expect.objectContaining({ reason: "key" }),
    );
    expect(others.holdsKeyOf(sealed)).toBe(false);
    const garbage = Buffer.from("no sealed text at all, but long enough to be");
    expect(() => of(3).open("patients", "notes", 41, garbage)).toThrow(
      expect.objectContaining({ reason: "format" }),
    );
  });

  it("of an earlier time still open, and seal no more", () => {
    const [first, index] = keys;
    if (first === undefined || index === undefined) throw new Error("two were made");
    const later = of(3, [wired(5, "field"), { ...first, state: "decrypt_only" }, index]);
    expect(later.open("patients", "identity", 41, sealed)).toBe(name);
    expect(keyIdOf(later.seal("patients", "identity", 41, name))).toBe(5);
  });

  it("tell nothing of a text in the error", () => {
    try {
      of(3).open("patients", "notes", 41, sealed);
    } catch (error) {
      expect(JSON.stringify(error) + String(error)).not.toMatch(/Ada|Lovelace/);
    }
  });
});

describe("a blind index", () => {
  it("is the HMAC of column and text", () => {
    const expected = "4622b2fd3aa32b57a423067e9d83421bb4b6c67214e4e25fbce85a34b9e349e8";
    expect(blindIndex(key, "full_name", "ada lovelace").toString("hex")).toBe(expected);
  });

  it("differs by column and by key", () => {
    const one = blindIndex(key, "full_name", "x").toString("hex");
    expect(blindIndex(key, "phone", "x").toString("hex")).not.toBe(one);
    expect(blindIndex(createSecretKey(randomBytes(32)), "full_name", "x").toString("hex")).not.toBe(one);
  });

  it.each([
    ["  Ada \t  LOVELACE ", "ada lovelace"],
    ["Zoe\u0308 A\u030angstro\u0308m", "zo\u00eb \u00e5ngstr\u00f6m"],
    ["ÉMILE", "émile"],
    ["", ""],
  ])("takes the name %j for %j", (given, normalised) => {
    expect(normaliseName(given)).toBe(normalised);
  });

  it.each([
    ["+49 (30) 123-4", "+49301234"],
    ["0049 30 1234", "+49301234"],
    ["030/1234", "0301234"],
    ["no digits", ""],
  ])("takes the phone %j for %j", (given, normalised) => {
    expect(normalisePhone(given)).toBe(normalised);
  });
});

describe("a wrapped key", () => {
  const boot = "a boot secret that is long enough";
  const wrapped = wrapMasterKey(boot, 1, counting);
  const master = unwrapMasterKey(boot, 1, wrapped);
  const dataName = { tenantId: 3, purpose: "field", id: 7 } as const;
  const wrappedData = wrapDataKey(master, dataName, counting);

  it("opens to the key", () => {
    expect(master.export().equals(counting)).toBe(true);
    expect(unwrapDataKey(master, dataName, wrappedData).equals(counting)).toBe(true);
    expect(wrapped.includes(counting)).toBe(false);
  });

  it.each([
    ["another boot secret", () => unwrapMasterKey(`${boot}!`, 1, wrapped)],
    ["another version", () => unwrapMasterKey(boot, 2, wrapped)],
    ["another master key", () => unwrapDataKey(createSecretKey(randomBytes(32)), dataName, wrappedData)],
    ["another tenant", () => unwrapDataKey(master, { ...dataName, tenantId: 4 }, wrappedData)],
    ["another purpose", () => unwrapDataKey(master, { ...dataName, purpose: "index" }, wrappedData)],
    ["another id", () => unwrapDataKey(master, { ...dataName, id: 8 }, wrappedData)],
    ["a byte less", () => unwrapDataKey(master, dataName, wrappedData.subarray(1))],
  ])("does not open for %s", (_what, opening) => {
    expect(opening).toThrow(expect.objectContaining({ name: "SealBroken" }));
  });

  it("of another secret is reported in one sentence, without the secret", () => {
    const asserting = () => assertBootSecretOpens("another secret altogether", [{ version: 1, wrapped }]);
    expect(asserting).toThrow(expect.objectContaining({ name: "StartError" }));
    expect(asserting).not.toThrow(/altogether/);
    expect(() => assertBootSecretOpens(boot, [{ version: 1, wrapped }])).not.toThrow();
  });

  it("has a fingerprint that tells equal keys, whatever the secret", () => {
    expect(masterFingerprint(counting)).toHaveLength(32);
    expect(masterFingerprint(Buffer.from(counting)).equals(masterFingerprint(counting))).toBe(true);
    expect(masterFingerprint(randomBytes(32)).equals(masterFingerprint(counting))).toBe(false);
  });
});

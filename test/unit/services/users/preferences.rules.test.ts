// Merging preferences: by top-level key, null removes, the whole stays under 64 kB.
import { describe, expect, it } from "@jest/globals";
import { mergeSettings, settingsBytesMax } from "../../../../services/users/preferences.rules.ts";

describe("merging", () => {
  it.each([
    ["nothing into nothing", {}, {}, {}],
    ["a new key", {}, { a: 1 }, { a: 1 }],
    ["another key", { a: 1 }, { b: 2 }, { a: 1, b: 2 }],
    ["the same key", { a: 1 }, { a: 2 }, { a: 2 }],
    ["null", { a: 1, b: 2 }, { a: null }, { b: 2 }],
    ["null for what is not there", { a: 1 }, { x: null }, { a: 1 }],
    ["an object, which replaces and does not mix", { a: { x: 1, y: 2 } }, { a: { x: 3 } }, { a: { x: 3 } }],
    ["a null deeper down, which stays", {}, { a: { x: null } }, { a: { x: null } }],
    ["falsy values, which are values", { a: 1 }, { a: 0, b: "", c: false }, { a: 0, b: "", c: false }],
    ["a list, whole", { a: [1, 2] }, { a: [] }, { a: [] }],
  ])("%s", (_name, before, changes, after) => {
    expect(mergeSettings(before, changes)).toEqual(after);
  });

  it("leaves what it was given as it was", () => {
    const before = { a: 1 };
    const changes = { a: null, b: 1 };
    mergeSettings(before, changes);
    expect([before, changes]).toEqual([{ a: 1 }, { a: null, b: 1 }]);
  });

  it("an own key __proto__ stays a key and reaches no prototype", () => {
    const merged = mergeSettings({}, JSON.parse('{"__proto__":{"role":"admin"}}'));
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(({} as { role?: string }).role).toBeUndefined();
  });
});

describe("the size of the whole", () => {
  const overhead = Buffer.byteLength(JSON.stringify({ k: "" }));
  const sized = (bytes: number) => ({ k: "x".repeat(bytes - overhead) });

  it("is allowed up to the limit and no further", () => {
    expect(mergeSettings({}, sized(settingsBytesMax))).toBeDefined();
    expect(mergeSettings({}, sized(settingsBytesMax + 1))).toBeUndefined();
  });

  it("counts bytes, not characters", () => {
    expect(mergeSettings({}, { k: "ü".repeat(40_000) })).toBeUndefined();
    expect(mergeSettings({}, { k: "u".repeat(40_000) })).toBeDefined();
  });

  it("counts what is there already, and what is removed no more", () => {
    const before = sized(40_000);
    expect(mergeSettings(before, { other: "x".repeat(30_000) })).toBeUndefined();
    expect(mergeSettings(before, { other: "x".repeat(30_000), k: null })).toBeDefined();
  });
});

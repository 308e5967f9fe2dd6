/** Free-form objects: copied, bounded, storable as jsonb, and no way into a prototype. */
import { describe, expect, it } from "@jest/globals";
import { dictionary } from "../../../../../services/shared/params/rules.ts";
import { faults, notTexts, readOne } from "./read-one.ts";

const rule = dictionary({ maxBytes: 64, maxDepth: 3 });
const tooDeep = "value_error: Value error, the object must not be nested deeper than 3 levels";
const tooLarge = "value_error: Value error, the object must not be larger than 64 bytes";

describe("a free-form object", () => {
  it.each([
    [{}],
    [{ a: 1, b: [true, null, "x"], c: { d: 1.5 } }],
    [{ a: { b: { c: "three levels" } } }],
    [{ a: [["three levels"]] }],
    [{ constructor: "a name like any other", prototype: 1 }],
    [{ hasOwnProperty: 1, toString: null }],
    [{ "": "", "a.b": 1 }],
  ])("%j is read as it is", (value) => {
    expect(readOne(rule, value)).toEqual({ value });
  });

  it("is a copy: the caller's object is neither changed nor shared", () => {
    const inner = { list: [1] };
    const value = Object.freeze({ inner: Object.freeze(inner) });
    const read = readOne(rule, value);
    inner.list.push(2);
    expect(read).toEqual({ value: { inner: { list: [1] } } });
  });

  it("may come without a prototype", () => {
    expect(readOne(rule, Object.assign(Object.create(null), { a: 1 }))).toEqual({ value: { a: 1 } });
  });

  it("drops keys whose value JSON cannot write", () => {
    expect(readOne(rule, { a: undefined, b: 1 })).toEqual({ value: { b: 1 } });
  });

  it.each([
    ["a fourth level", { a: { b: { c: {} } } }, tooDeep],
    ["a fourth level of lists", { a: [[[]]] }, tooDeep],
    ["65 bytes", { key: "x".repeat(55) }, tooLarge],
    ["few characters of many bytes", { key: "😀".repeat(14) }, tooLarge],
    ["NUL in a value", { a: ["\0"] }, "value_error: Value error, the object must not contain NUL"],
    ["NUL in a key", { a: { "\0": 1 } }, "value_error: Value error, the object must not contain NUL"],
    [
      "a lone surrogate",
      { a: "\ud800" },
      "value_error: Value error, the object must not contain lone surrogates",
    ],
    [
      "one in a key",
      { "\udfff": 1 },
      "value_error: Value error, the object must not contain lone surrogates",
    ],
    [
      "1e400",
      { a: Infinity },
      "value_error: Value error, the object must not contain numbers that are out of range",
    ],
    [
      "NaN",
      { a: [NaN] },
      "value_error: Value error, the object must not contain numbers that are out of range",
    ],
    ["a date", { a: new Date(0) }, "value_error: Value error, the object must contain JSON values only"],
    ["a function", { a: () => 1 }, "value_error: Value error, the object must contain JSON values only"],
    ["a big integer", { a: 1n }, "value_error: Value error, the object must contain JSON values only"],
    ["a symbol", { a: Symbol("a") }, "value_error: Value error, the object must contain JSON values only"],
  ])("with %s is refused", (_, value, expected) => {
    expect(faults(rule, value)).toEqual([expected]);
  });

  it("of exactly 64 bytes is taken", () => {
    expect(readOne(rule, { key: "x".repeat(54) })).toMatchObject({ value: {} });
  });

  it.each(
    [...notTexts.filter((value) => !isPlain(value)), "text", new Map(), Object.create({ inherited: 1 })].map(
      (value) => [value],
    ),
  )("%p is none", (value) => {
    expect(faults(rule, value)).toEqual(["dict_type: Input should be a valid dictionary"]);
  });

  it("that refers to itself is refused as too deep", () => {
    const self: Record<string, unknown> = {};
    self.self = self;
    expect(faults(rule, self)).toEqual([tooDeep]);
  });

  it("cannot reach a prototype", () => {
    const value: unknown = JSON.parse(
      '{"__proto__":{"admin":true},"a":{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}},"b":[{"__proto__":1}]}',
    );
    const read = readOne(rule, value);
    expect(JSON.stringify(read)).toBe('{"value":{"a":{},"b":[{}]}}');
    expect(read).not.toHaveProperty("value.admin");
    expect(read).not.toHaveProperty("value.a.admin");
    expect({}).not.toHaveProperty("admin");
  });

  it.each([
    ["keys", (many: object) => many],
    ["a list's items", (many: object) => ({ list: Object.values(many) })],
  ])(
    "is left where it is certain that it is too large: of a thousand %s few are looked at",
    (_what, wrap) => {
      let looked = 0;
      const many: Record<string, unknown> = {};
      for (let n = 0; n < 1_000; n++)
        many[`k${n}`] = {
          get value() {
            looked++;
            return 1;
          },
        };
      expect(faults(rule, wrap(many))).toEqual([tooLarge]);
      expect(looked).toBeLessThan(10);
    },
  );
});

function isPlain(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Object]";
}

/** Whatever JSON arrives: no check throws, and what is accepted keeps what the JSON Schema promises. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { compileParams } from "../../../../../services/shared/params/compile.ts";
import { parseJsonBody } from "../../../../../services/shared/params/json-body.ts";
import { toJsonSchema } from "../../../../../services/shared/params/json-schema.ts";
import {
  emptyIsAbsent,
  emptyIsNull,
  nullable,
  optional,
} from "../../../../../services/shared/params/modifiers.ts";
import { parseQuery } from "../../../../../services/shared/params/query.ts";
import { object } from "../../../../../services/shared/params/results.ts";
import {
  dateOrTime,
  dictionary,
  email,
  flag,
  id,
  integer,
  listOf,
  oneOf,
  pathId,
  secretText,
  text,
  url,
} from "../../../../../services/shared/params/rules.ts";
import type { AnyRule } from "../../../../../services/shared/params/types.ts";

const rules: Record<string, AnyRule> = {
  text: text({ min: 1, max: 5 }),
  trimmed: text({ max: 3, trim: true, pattern: /^[^0]*$/ }),
  secret: secretText({ min: 2, max: 8 }),
  email: email(),
  url: url(),
  integer: integer({ min: -5, max: 200 }),
  any_integer: integer(),
  id: id(),
  flag: flag(),
  word: oneOf(["asc", "desc", ""]),
  list: listOf(nullable(integer()), { min: 1, max: 3, unique: true }),
  nested: object({ a: optional(listOf(text())), b: nullable(flag()) }),
  free: dictionary({ maxBytes: 200, maxDepth: 3 }),
  page: emptyIsAbsent(integer({ min: 1, default: 1 })),
  empty: emptyIsNull(text({ min: 1 })),
};
/** What each rule accepts for sure, so that no property holds of nothing. */
const right: Record<string, unknown[]> = {
  text: ["a"],
  trimmed: [" a "],
  secret: ["ab"],
  email: ["a@b.co"],
  url: ["https://a.b"],
  integer: ["7"],
  any_integer: [7],
  id: [1],
  flag: ["true"],
  word: ["asc"],
  list: [["1", null]],
  nested: [{ a: ["b"], b: null }],
  free: [{ a: { b: 1 } }],
  page: ["2"],
  empty: ["", "a"],
};
const check = compileParams({
  path: { user_id: pathId() },
  query: { from: optional(dateOrTime()) },
  body: rules,
});

const hostileText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  fc.constantFrom(
    "",
    "\0",
    "__proto__",
    "1",
    " 7 ",
    "1.0",
    "asc",
    "true",
    "a@b.co",
    "2026-01-31",
    "https://a.b",
  ),
);
const hostile = fc.oneof(
  hostileText,
  fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true, withMap: true, withSet: true }),
  fc.jsonValue({ noUnicodeString: false }),
  fc.constantFrom(-0, NaN, Infinity, 1e300, 2 ** 53, 0.1, true, null),
);
/** Lists and objects that are right but for a part of them: chance alone makes none. */
const almost = fc.oneof(
  fc.array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(1, -2, null, "3") }, hostile), { maxLength: 4 }),
  fc.record(
    {
      a: fc.array(fc.oneof({ weight: 5, arbitrary: fc.constant("text") }, hostile)),
      b: fc.oneof(fc.boolean(), hostile),
    },
    { requiredKeys: [] },
  ),
);
const requests = fc.record(
  Object.fromEntries(["user_id", "from", ...Object.keys(rules)].map((name) => [name, hostile])),
  { requiredKeys: [] },
);

/** The few keywords our schemas use; enough to hold a read value against its own rule. */
function satisfies(value: unknown, schema: Record<string, unknown>): boolean {
  const types = [schema.type].flat();
  const text = typeof value === "string" ? value : "";
  const bounds = [
    [schema.minimum, (bound: number) => Number(value) >= bound],
    [schema.maximum, (bound: number) => Number(value) <= bound],
    [schema.minLength, (bound: number) => Array.from(text).length >= bound],
    [schema.maxLength, (bound: number) => Array.from(text).length <= bound],
    [schema.minItems, (bound: number) => Array.isArray(value) && value.length >= bound],
    [schema.maxItems, (bound: number) => Array.isArray(value) && value.length <= bound],
  ] as const;
  if (!types.includes(typeName(value))) return false;
  if (value === null) return true;
  if (Array.isArray(schema.enum) && !schema.enum.includes(value)) return false;
  if (typeof schema.pattern === "string" && !new RegExp(schema.pattern).test(text)) return false;
  return bounds.every(([bound, holds]) => typeof bound !== "number" || holds(bound));
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

describe("for any request", () => {
  it("the check answers params, not found, or failures that are texts with a known place", () => {
    fc.assert(
      fc.property(requests, (flat) => {
        const checked = check(flat);
        if ("notFound" in checked) return expect(checked.notFound).toBe("user_id");
        if ("params" in checked) return undefined;
        expect(checked.failures.length).toBeGreaterThan(0);
        for (const { loc, msg, type } of checked.failures) {
          expect(["path", "query", "body"]).toContain(loc[0]);
          expect([...loc, msg, type].every((part) => typeof part === "string" && part !== "")).toBe(true);
          expect(type).not.toBe("not_found");
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each(Object.entries(rules))(
    "what %s accepts keeps its own schema, and reads the same again",
    (name, rule) => {
      const one = compileParams({ body: { field: rule } });
      const schema = toJsonSchema(rule);
      let accepted = 0;
      fc.assert(
        fc.property(fc.oneof(hostile, almost), (value) => {
          const checked = one({ field: value });
          // Refused; how many were accepted is looked at below.
          if (!("params" in checked)) return;
          accepted++;
          const { field }: { field?: unknown } = checked.params;
          if (!satisfies(field, schema)) throw new Error(`${JSON.stringify(field)} is against its schema`);
          const text = JSON.stringify(field);
          expect(text.isWellFormed() && !text.includes("\\u0000")).toBe(true);
          expect(one({ field })).toEqual({ params: { field } });
        }),
        { numRuns: 500, examples: right[name]?.map((value) => [value]) ?? [] },
      );
      expect(accepted).toBeGreaterThanOrEqual(right[name]?.length ?? 1);
    },
  );
});

describe("for any bytes", () => {
  it("JSON reads as JSON.parse reads it, and the rest is one failure", () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.nat(), fc.nat(255), (json, at, byte) => {
        const bytes = Buffer.from(json);
        expect(parseJsonBody(bytes)).toHaveProperty("value");
        bytes[at % bytes.length] = byte;
        const parsed = parseJsonBody(bytes);
        if ("value" in parsed) return void JSON.parse(bytes.toString());
        const [place, offset] = parsed.failure.loc;
        expect([place, parsed.failure.type]).toEqual(["body", "json_invalid"]);
        expect(Number(offset)).toBeLessThanOrEqual(bytes.toString().length);
        return undefined;
      }),
      { numRuns: 1000 },
    );
  });

  it("the place of a fault is where the text stops being the beginning of some JSON", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, cut) => {
        const text = json.slice(0, cut % json.length);
        const parsed = parseJsonBody(Buffer.from(`${text}?`));
        if ("value" in parsed) throw new Error(`${text}? is no JSON`);
        expect(Number(parsed.failure.loc[1])).toBeLessThanOrEqual(Array.from(text).length);
      }),
      { numRuns: 500 },
    );
  });
});

describe("for any query", () => {
  it("names and values are texts, and nothing throws", () => {
    fc.assert(
      fc.property(hostileText, (search) => {
        const query = parseQuery(search);
        expect(Object.values(query).every((value) => typeof value === "string")).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

/** The check of a whole request: places, order, absence and null, and objects that are not what they seem. */
import { describe, expect, it } from "@jest/globals";
import { compileParams, headerNames } from "../../../../../services/shared/params/compile.ts";
import { bodyMissing } from "../../../../../services/shared/params/failure.ts";
import {
  emptyIsAbsent,
  emptyIsNull,
  inHeader,
  nullable,
  optional,
  withDefault,
} from "../../../../../services/shared/params/modifiers.ts";
import { json, object, timestamp } from "../../../../../services/shared/params/results.ts";
import {
  flag,
  id,
  integer,
  listOf,
  oneOf,
  pathId,
  text,
} from "../../../../../services/shared/params/rules.ts";
import type { AnyRule } from "../../../../../services/shared/params/types.ts";

const places = {
  path: { user_id: pathId() },
  query: {
    page: emptyIsAbsent(integer({ min: 1, default: 1 })),
    role: optional(emptyIsNull(oneOf(["a", "b"]))),
  },
  header: { provider_signature: optional(nullable(inHeader(text(), "Provider-Signature"))) },
  body: { name: text({ min: 1 }), is_active: withDefault(flag(), true), head_id: optional(nullable(id())) },
};
const check = compileParams(places);

describe("a request", () => {
  it("is read into one flat object", () => {
    const flat = { user_id: "7", page: "2", role: "a", provider_signature: "t=1", name: "Ann", head_id: "3" };
    expect(check(flat)).toEqual({
      params: {
        user_id: 7,
        page: 2,
        role: "a",
        provider_signature: "t=1",
        name: "Ann",
        is_active: true,
        head_id: 3,
      },
    });
  });

  it("keeps absent keys absent", () => {
    const checked = check({ user_id: 7, name: "Ann" });
    expect(checked).toEqual({ params: { user_id: 7, page: 1, name: "Ann", is_active: true } });
    expect(Object.keys("params" in checked ? checked.params : {})).not.toContain("head_id");
  });

  it("reports every failure: path, query, header, body, each by declaration", () => {
    const flat = { is_active: "maybe", name: "", provider_signature: 5, role: "c", page: 0, user_id: "x" };
    const checked = check(flat);
    expect("failures" in checked && checked.failures.map(({ loc }) => loc.join("."))).toEqual([
      "path.user_id",
      "query.page",
      "query.role",
      "header.provider-signature",
      "body.name",
      "body.is_active",
    ]);
  });

  it("with a path id that cannot exist is not found, but failures come first", () => {
    expect(check({ user_id: "0", name: "Ann" })).toEqual({ notFound: "user_id" });
    expect(check({ user_id: "0", name: "" })).toEqual({
      failures: [
        { loc: ["body", "name"], type: "string_too_short", msg: "String should have at least 1 character" },
      ],
    });
  });

  it("whose body is none gets one failure for it, after those of the other places", () => {
    const checked = check({ user_id: "x", name: "seen by nobody" }, bodyMissing());
    expect("failures" in checked && checked.failures.map(({ loc }) => loc)).toEqual([
      ["path", "user_id"],
      ["body"],
    ]);
  });

  it("gets failures of its own every time", () => {
    const first = check({ user_id: "x", name: "Ann" });
    if ("failures" in first) first.failures[0]?.loc.push("changed");
    expect(check({ user_id: "x", name: "Ann" })).toMatchObject({ failures: [{ loc: ["path", "user_id"] }] });
  });

  it("may be checked again as it was read", () => {
    const once = check({ user_id: "7", page: "", role: "", name: "Ann" });
    expect(check("params" in once ? once.params : {})).toEqual(once);
  });
});

describe("absence and null", () => {
  const t = text();
  const table: [string, AnyRule, unknown, unknown][] = [
    ["required, absent", t, undefined, "missing"],
    ["required, null", t, null, "string_type"],
    ["optional, absent", optional(t), undefined, {}],
    ["optional, null", optional(t), null, "string_type"],
    ["nullable, absent", nullable(t), undefined, "missing"],
    ["nullable, null", nullable(t), null, { x: null }],
    ["both, null", optional(nullable(t)), null, { x: null }],
    ["both, absent", nullable(optional(t)), undefined, {}],
    ["default, absent", withDefault(t, "d"), undefined, { x: "d" }],
    ["default, null", withDefault(t, "d"), null, "string_type"],
    ["default and nullable, null", withDefault(nullable(t), "d"), null, { x: null }],
    ["null as default, absent", withDefault(nullable(t), null), undefined, { x: null }],
    ["empty is null", emptyIsNull(t), "", { x: null }],
    ["empty is null, absent", emptyIsNull(t), undefined, "missing"],
    ["empty is absent, default", emptyIsAbsent(integer({ default: 1 })), "", { x: 1 }],
    ["empty is absent, null", emptyIsAbsent(integer({ default: 1 })), null, { x: 1 }],
    ["empty is absent, optional", emptyIsAbsent(optional(t)), "", {}],
    ["empty is absent, required", emptyIsAbsent(t), "", "missing"],
    ["a false default", withDefault(flag(), false), undefined, { x: false }],
    ["a zero default", integer({ default: 0 }), undefined, { x: 0 }],
    ["null items", listOf(nullable(t)), ["a", null], { x: ["a", null] }],
    ["null items refused", listOf(t), [null], "string_type"],
    ["items that are absent", listOf(t), Array.from({ length: 1 }), "missing"],
  ];

  it.each(table)("%s", (_, rule, value, expected) => {
    const checked = compileParams({ query: { x: rule } })(value === undefined ? {} : { x: value });
    const outcome = "failures" in checked ? checked.failures.map(({ type }) => type).join() : checked;
    expect(outcome).toEqual(typeof expected === "string" ? expected : { params: expected });
  });

  it("a default is not shared between calls", () => {
    const withList = compileParams({ body: { tags: withDefault(listOf(text()), ["a"]) } });
    const first = withList({});
    if ("params" in first) first.params.tags.push("b");
    expect(withList({})).toEqual({ params: { tags: ["a"] } });
  });
});

describe("only own declared names count", () => {
  const login = compileParams({ body: { email: text(), role: optional(text()) } });

  it("unknown names are dropped", () => {
    expect(login({ email: "a", is_admin: true, 0: "x" })).toEqual({ params: { email: "a" } });
  });

  it.each([
    ["an own __proto__ key", JSON.parse('{"email":"a","__proto__":{"role":"admin"}}')],
    ["a prototype", Object.assign(Object.create({ role: "admin" }), { email: "a" })],
    [
      "an instance",
      new (class {
        email = "a";
        get role() {
          return "admin";
        }
      })(),
    ],
  ])("nothing is taken from %s", (_, flat) => {
    const checked = login(flat);
    expect(checked).toEqual({ params: { email: "a" } });
    expect("params" in checked && checked.params.role).toBeUndefined();
  });

  it("inherited required names are missing", () => {
    expect(login(Object.create({ email: "a" }))).toMatchObject({ failures: [{ type: "missing" }] });
  });

  it("the answer has no prototype", () => {
    const checked = login({ email: "a" });
    expect("params" in checked && Object.getPrototypeOf(checked.params)).toBeNull();
  });

  it("the caller's object is left as it was", () => {
    const flat = Object.freeze({ email: " a ", role: "x", tags: Object.freeze(["1"]) });
    const trimmed = compileParams({ body: { email: text({ trim: true }), tags: listOf(integer()) } });
    expect(trimmed(flat)).toEqual({ params: { email: "a", tags: [1] } });
    expect(flat).toEqual({ email: " a ", role: "x", tags: ["1"] });
  });

  it("a polluted Object.prototype changes nothing", () => {
    const polluted: { role?: string } = Object.prototype;
    polluted.role = "admin";
    try {
      expect(login({ email: "a" })).toEqual({ params: Object.assign(Object.create(null), { email: "a" }) });
    } finally {
      delete polluted.role;
    }
  });
});

describe("lists", () => {
  it("over their bound are not looked into", () => {
    let looked = 0;
    const items = new Proxy(
      Array.from({ length: 11 }, () => 1),
      {
        get(target, key) {
          if (key === "0") looked++;
          return Reflect.get(target, key);
        },
      },
    );
    expect(compileParams({ body: { ids: listOf(id(), { max: 10 }) } })({ ids: items })).toHaveProperty(
      "failures",
    );
    expect(looked).toBe(0);
  });

  it("stop after a hundred failures", () => {
    const checked = compileParams({ body: { ids: listOf(id()) } })({
      ids: Array.from({ length: 1000 }, () => "x"),
    });
    expect("failures" in checked && checked.failures.length).toBe(100);
  });

  it("have a bound where none is stated", () => {
    const checked = compileParams({ body: { ids: listOf(id()) } })({
      ids: Array.from({ length: 1_000_000 }, () => "x"),
    });
    expect(checked).toMatchObject({ failures: [{ type: "too_long", loc: ["body", "ids"] }] });
  });

  it("of unique items refuse a second equal one, as read", () => {
    const unique = compileParams({ body: { ids: listOf(id(), { unique: true }) } });
    expect(unique({ ids: [1, 2] })).toEqual({ params: { ids: [1, 2] } });
    expect(unique({ ids: [1, "1"] })).toEqual({
      failures: [{ loc: ["body", "ids"], type: "value_error", msg: "Value error, the items must be unique" }],
    });
  });

  it("may share their rule with others", () => {
    const shared = id();
    const both = compileParams({
      body: { a: shared, b: shared, c: listOf(shared), d: listOf(listOf(shared)) },
    });
    expect(both({ a: 1, b: 1, c: [1, 1], d: [[1], [1]] })).toEqual({
      params: { a: 1, b: 1, c: [1, 1], d: [[1], [1]] },
    });
    expect(both({ a: 1, b: 0, c: [0], d: [[0]] })).toMatchObject({
      failures: [{ loc: ["body", "b"] }, { loc: ["body", "c", "0"] }, { loc: ["body", "d", "0", "0"] }],
    });
  });
});

describe("mistakes in a declaration are refused when it is compiled", () => {
  it.each([
    ["a name in two places", { path: { id: id() }, body: { id: id() } }, "declared twice"],
    ["__proto__", { body: { ["__proto__"]: id() } }, "not a parameter name"],
    ["constructor", { body: { constructor: id() } }, "not a parameter name"],
    ["a name with a quote", { body: { 'a"]': id() } }, "not a parameter name"],
    ["a result's rule", { body: { at: timestamp() } }, "timestamp"],
    ["anything at all", { body: { at: json() } }, "json"],
    ["one inside an object", { body: { o: object({ at: listOf(json()) }) } }, "json"],
  ])("%s", (_, bad, message) => {
    expect(() => compileParams(bad)).toThrow(message);
  });
});

describe("header parameters", () => {
  it("go by their wire name, without case", () => {
    expect([...headerNames(places), ...headerNames({ header: { x_request_id: text() } })]).toEqual([
      ["provider-signature", "provider_signature"],
      ["x-request-id", "x_request_id"],
    ]);
  });
});

/** The strict check of answers that tests use. */
import { describe, expect, it } from "@jest/globals";
import { nullable, optional } from "../../../../../services/shared/params/modifiers.ts";
import { resultFaults } from "../../../../support/result-faults.ts";
import {
  anyOf,
  facts,
  json,
  object,
  plainValue,
  timestamp,
} from "../../../../../services/shared/params/results.ts";
import { dictionary, flag, id, listOf, oneOf, text } from "../../../../../services/shared/params/rules.ts";

const user = object({
  id: id(),
  email: text(),
  role: oneOf(["nurse", "doctor"]),
  department: nullable(object({ id: id(), name: text() })),
  is_active: flag(),
  settings: dictionary({ maxBytes: 9, maxDepth: 1 }),
  extra: json(),
  created_at: timestamp(),
  note: optional(text()),
});
const good = {
  id: 1,
  email: "a@b.co",
  role: "nurse",
  department: { id: 2, name: "Ward" },
  is_active: true,
  settings: {},
  extra: null,
  created_at: "2026-01-31T12:00:00.123Z",
};

describe("an answer", () => {
  it.each([[good], [{ ...good, department: null }], [{ ...good, note: "x", extra: [1, { a: 2 }] }]])(
    "as declared is good",
    (answer) => {
      expect(resultFaults(user, answer)).toEqual([]);
      expect(resultFaults(listOf(user), [answer, answer])).toEqual([]);
    },
  );

  it.each([
    ["a number as text", { ...good, id: "1" }, ["$.id: is no integer"]],
    ["an id of 0", { ...good, id: 0 }, ["$.id: is no integer"]],
    ["another word", { ...good, role: "king" }, ["$.role: is no oneOf"]],
    ["1 for true", { ...good, is_active: 1 }, ["$.is_active: is no flag"]],
    ["null where none may be", { ...good, email: null }, ["$.email: is no text"]],
    ["a list for an object", { ...good, settings: [] }, ["$.settings: is no object"]],
    [
      "a time without Z",
      { ...good, created_at: "2026-01-31T12:00:00+00:00" },
      ["$.created_at: is no timestamp"],
    ],
    ["a Date", { ...good, created_at: new Date() }, ["$.created_at: is no timestamp"]],
    ["a field too many", { ...good, password_hash: "x" }, ["$.password_hash: is not declared"]],
    ["one below", { ...good, department: { id: 2, name: "W", x: 1 } }, ["$.department.x: is not declared"]],
    ["a field too few", { ...good, extra: undefined }, ["$.extra: is no json"]],
    ["fields out of order", Object.assign({ email: "" }, good), ["$: fields are out of order"]],
    ["none at all", {}, Object.keys(good).map((name) => `$.${name}: is absent`)],
    ["text", "x", ["$: is no object"]],
    ["null", null, ["$: is no object"]],
  ])("with %s is not", (_, answer, expected) => {
    expect(resultFaults(user, answer)).toEqual(expected);
  });

  it("that is no list is said to be none, and items are counted", () => {
    expect(resultFaults(listOf(id()), {})).toEqual(["$: is no list"]);
    expect(resultFaults(listOf(id()), [1, "2"])).toEqual(["$.1: is no integer"]);
  });
});

describe("an object that is open", () => {
  const changes = facts<object>({ fields: listOf(text()), at: timestamp() }, plainValue());

  it.each([
    ["nothing at all", {}],
    ["what is known, in any order", { at: "2026-01-31T12:00:00Z", fields: ["name"] }],
    ["plain values", { a: "x", b: 1.5, c: false, d: null, e: ["x", 1], f: [] }],
  ])("may hold %s", (_, value) => {
    expect(resultFaults(changes, value)).toEqual([]);
  });

  it.each([
    ["an object", { a: {} }, ["$.a: is no plainValue"]],
    ["a list of lists", { a: [[]] }, ["$.a: is no plainValue"]],
    ["no number", { a: Number.NaN }, ["$.a: is no plainValue"]],
    ["another type of what is known", { fields: "name" }, ["$.fields: is no list"]],
  ])("may not hold %s", (_, value, expected) => {
    expect(resultFaults(changes, value)).toEqual(expected);
  });

  it("holds what is known of free settings to its rule", () => {
    const settings = dictionary({ maxBytes: 99, maxDepth: 2, known: { mode: oneOf(["a", "b"]) } });
    expect(resultFaults(settings, { mode: "a", other: [{}] })).toEqual([]);
    expect(resultFaults(settings, { mode: "c" })).toEqual(["$.mode: is no oneOf"]);
  });
});

describe("one of several", () => {
  const data = anyOf<object>("Data", [object({ id: id() }), object({ name: text() })]);

  it("fits one of them, or is none", () => {
    expect(resultFaults(data, { id: 1 })).toEqual([]);
    expect(resultFaults(data, { name: "x" })).toEqual([]);
    expect(resultFaults(data, { id: "x" })).toEqual(["$: is none of Data"]);
    expect(resultFaults(data, { id: 1, name: "x" })).toEqual(["$: is none of Data"]);
  });
});

/** Every pair of type and message that the 422 answer may hold, as FastAPI 0.142 with Pydantic 2.13 words them. */
import { describe, expect, it } from "@jest/globals";
import { compileParams } from "../../../../../services/shared/params/compile.ts";
import { bodyMissing, bodyNotAnObject } from "../../../../../services/shared/params/failure.ts";
import { custom, optional } from "../../../../../services/shared/params/modifiers.ts";
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
  secretText,
  text,
  url,
} from "../../../../../services/shared/params/rules.ts";
import type { AnyRule } from "../../../../../services/shared/params/types.ts";
import { faults } from "./read-one.ts";

const stringType = "string_type: Input should be a valid string";
const intType = "int_type: Input should be a valid integer";
const intParsing = "int_parsing: Input should be a valid integer, unable to parse string as an integer";
const intFromFloat = "int_from_float: Input should be a valid integer, got a number with a fractional part";
const boolParsing = "bool_parsing: Input should be a valid boolean, unable to interpret input";
const boolType = "bool_type: Input should be a valid boolean";
const dictType = "dict_type: Input should be a valid dictionary";
const listType = "list_type: Input should be a valid list";
const noFields = "model_attributes_type: Input should be a valid dictionary or object to extract fields from";
const free = dictionary({ maxBytes: 1000, maxDepth: 3 });

const table: [string, AnyRule, unknown, string][] = [
  ["an absent field", text(), undefined, "missing: Field required"],
  ["null for text", text(), null, stringType],
  ["null for optional text", optional(text()), null, stringType],
  ["a number for text", text(), 5, stringType],
  ["one of at least 1 character", text({ min: 1 }), "", tooShort("1 character")],
  ["7 of at least 8 characters", secretText({ min: 8 }), "1234567", tooShort("8 characters")],
  ["2 of at most 1 character", text({ max: 1 }), "ab", tooLong("1 character")],
  ["13 of at most 12 characters", text({ max: 12 }), "x".repeat(13), tooLong("12 characters")],
  [
    "a text beside the pattern",
    text({ pattern: /^[a-z]+$/ }),
    "A1",
    "string_pattern_mismatch: String should match pattern '^[a-z]+$'",
  ],
  ["an empty integer", integer(), "", intParsing],
  ["1.5 as text", integer(), "1.5", intParsing],
  ["0x5", integer(), "0x5", intParsing],
  ["1.5", integer(), 1.5, intFromFloat],
  ["a list for an integer", integer(), [1], intType],
  ["an object for an integer", integer(), {}, intType],
  ["null for an integer", integer(), null, intType],
  ["another word for a boolean", flag(), "maybe", boolParsing],
  ["2 for a boolean", flag(), 2, boolParsing],
  ["null for a boolean", flag(), null, boolType],
  ["a list for a boolean", flag(), [], boolType],
  ["0.5 for a boolean", flag(), 0.5, boolType],
  ["below the bound", id(), 0, "greater_than_equal: Input should be greater than or equal to 1"],
  [
    "above the bound",
    integer({ max: 200 }),
    201,
    "less_than_equal: Input should be less than or equal to 200",
  ],
  ["a list for an object", free, [], dictType],
  ["text for an object", free, "{}", dictType],
  ["null for an object", free, null, dictType],
  ["an object for a list", listOf(text()), {}, listType],
  ["text for a list", listOf(text()), "ab", listType],
  ["null for a list", listOf(text()), null, listType],
  [
    "an empty list of at least 1",
    listOf(text(), { min: 1 }),
    [],
    "too_short: List should have at least 1 item after validation, not 0",
  ],
  [
    "1 of at least 2",
    listOf(text(), { min: 2 }),
    ["a"],
    "too_short: List should have at least 2 items after validation, not 1",
  ],
  [
    "3 of at most 2",
    listOf(text(), { max: 2 }),
    ["a", "b", "c"],
    "too_long: List should have at most 2 items after validation, not 3",
  ],
  [
    "2 of at most 1",
    listOf(text(), { max: 1 }),
    [1, 2],
    "too_long: List should have at most 1 item after validation, not 2",
  ],
  ["none of one", oneOf(["asc"]), "up", "literal_error: Input should be 'asc'"],
  ["none of two", oneOf(["asc", "desc"]), "ASC", "literal_error: Input should be 'asc' or 'desc'"],
  ["none of three", oneOf(["a", "b", "c"]), null, "literal_error: Input should be 'a', 'b' or 'c'"],
  [
    "no e-mail",
    email(),
    "ann",
    "value_error: value is not a valid email address: An email address must have an @-sign.",
  ],
  ["a rule of ours", custom(text(), () => "no such word"), "x", "value_error: Value error, no such word"],
  [
    "no date",
    dateOrTime(),
    "yesterday!",
    "datetime_from_date_parsing: Input should be a valid datetime or date, invalid character in year",
  ],
  ["no URL", url(), "example", "url_parsing: Input should be a valid URL, relative URL without a base"],
  ["another scheme", url(), "ftp://example.com", "url_scheme: URL scheme should be 'http' or 'https'"],
  ["text for a nested object", object({ a: text() }), "x", noFields],
];

function tooShort(what: string): string {
  return `string_too_short: String should have at least ${what}`;
}
function tooLong(what: string): string {
  return `string_too_long: String should have at most ${what}`;
}

describe("the vocabulary", () => {
  it.each(table)("%s", (_, rule, value, expected) => {
    expect(faults(rule, value)).toEqual([expected]);
  });

  it("an absent and a shapeless body have words of their own", () => {
    expect(bodyMissing()).toEqual({ loc: ["body"], type: "missing", msg: "Field required" });
    expect(bodyNotAnObject()).toEqual({
      loc: ["body"],
      type: "model_attributes_type",
      msg: "Input should be a valid dictionary or object to extract fields from",
    });
  });

  it("list items and nested fields are located by position and name, all strings", () => {
    const check = compileParams({ body: { rows: listOf(object({ tags: listOf(integer()) })) } });
    expect(check({ rows: [{ tags: [1] }, { tags: [2, "x"] }, 5, { tags: null }, {}] })).toEqual({
      failures: [
        { loc: ["body", "rows", "1", "tags", "1"], type: "int_parsing", msg: intParsing.slice(13) },
        { loc: ["body", "rows", "2"], type: "model_attributes_type", msg: noFields.slice(23) },
        { loc: ["body", "rows", "3", "tags"], type: "list_type", msg: "Input should be a valid list" },
        { loc: ["body", "rows", "4", "tags"], type: "missing", msg: "Field required" },
      ],
    });
  });

  it("a failure never repeats a secret", () => {
    const rule = secretText({ min: 12, max: 20 });
    for (const secret of ["hunter2", "s".repeat(30), "hunter2\0hunter2", ["hunter2"]]) {
      expect(JSON.stringify(faults(rule, secret))).not.toContain(String(secret).slice(0, 7));
    }
  });
});

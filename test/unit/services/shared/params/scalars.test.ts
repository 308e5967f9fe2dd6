/** Integers, booleans and literals: the lenient readings of Pydantic 2, and what even they refuse. */
import { describe, expect, it } from "@jest/globals";
import { compileParams } from "../../../../../services/shared/params/compile.ts";
import { flag, id, idMax, integer, oneOf, pathId } from "../../../../../services/shared/params/rules.ts";
import { faults, readOne } from "./read-one.ts";

function typeOf(outcome: string[]): string[] {
  return outcome.map((line) => line.split(":")[0] ?? "");
}

describe("an integer", () => {
  it.each([
    [12, 12],
    ["12", 12],
    [" 5", 5],
    ["5\n", 5],
    ["+5", 5],
    ["-5", -5],
    ["007", 7],
    ["1.0", 1],
    ["1.000", 1],
    ["1_000", 1000],
    [1.0, 1],
    [true, 1],
    [false, 0],
    [-0, 0],
    ["-0", 0],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ])("reads %p as %p", (value, expected) => {
    expect(readOne(integer(), value)).toEqual({ value: expected });
  });

  it.each([
    "",
    " ",
    "1.5",
    ".0",
    "1e3",
    "0x5",
    "0b1",
    "--1",
    "+-1",
    "+",
    "1 2",
    "1,000",
    "_1",
    "1_",
    "1__0",
    "NaN",
    "Infinity",
    "null",
    "true",
    "１２",
    "١٢",
    "1\0",
    "½",
    "Ⅻ",
  ])("refuses the text %p", (value) => {
    expect(typeOf(faults(integer(), value))).toEqual(["int_parsing"]);
  });

  it.each([
    [null],
    [[]],
    [[1]],
    [{}],
    [{ valueOf: () => 1 }],
    [new Number(1)],
    [1n],
    [Symbol("1")],
    [() => 1],
  ])("refuses %p, which is no number", (value) => {
    expect(typeOf(faults(integer(), value))).toEqual(["int_type"]);
  });

  it.each([[1.5], [-0.1], [NaN], [1e-300]])("refuses %p, which has a fraction", (value) => {
    expect(typeOf(faults(integer(), value))).toEqual(["int_from_float"]);
  });

  it.each([[Infinity], [1e300], [2 ** 53], ["9".repeat(16)], ["9".repeat(10_000)], [`${"9".repeat(500)}.0`]])(
    "refuses a number above what is held exactly",
    (value) => {
      expect(typeOf(faults(integer(), value))).toEqual(["less_than_equal"]);
      expect(typeOf(faults(integer({ max: 10 }), value))).toEqual(["less_than_equal"]);
    },
  );

  it.each([[-Infinity], [-(2 ** 53)], [`-${"9".repeat(10_000)}`]])("refuses a number below it", (value) => {
    expect(typeOf(faults(integer(), value))).toEqual(["greater_than_equal"]);
  });

  it("bounds are part of the range", () => {
    expect(readOne(id(), 1)).toEqual({ value: 1 });
    expect(readOne(id(), idMax)).toEqual({ value: idMax });
    expect(typeOf(faults(id(), idMax + 1))).toEqual(["less_than_equal"]);
    expect(typeOf(faults(id(), 0))).toEqual(["greater_than_equal"]);
    expect(typeOf(faults(id(), "-1"))).toEqual(["greater_than_equal"]);
  });
});

describe("an id in the path", () => {
  const check = compileParams({ path: { user_id: pathId() } });

  it("is a number", () => {
    expect(check({ user_id: "7" })).toMatchObject({ params: { user_id: 7 } });
  });

  it.each(["0", "-5", "2147483648", "9".repeat(400), "9".repeat(10_000), 0, 2 ** 31, Infinity])(
    "that no row can have is not found",
    (value) => {
      expect(check({ user_id: value })).toEqual({ notFound: "user_id" });
    },
  );

  it.each(["abc", "", "1.5", "0x1", "1e9", null, [], {}, 1.5, NaN])("%p is a failure", (value) => {
    expect(check({ user_id: value })).toMatchObject({ failures: [{ loc: ["path", "user_id"] }] });
  });
});

describe("a boolean", () => {
  it.each([true, 1, 1.0, "1", "t", "T", "true", "TRUE", "True", "y", "Y", "yes", "YES", "on", "On"])(
    "%p is true",
    (value) => {
      expect(readOne(flag(), value)).toEqual({ value: true });
    },
  );

  it.each([false, 0, -0, "0", "f", "F", "false", "FALSE", "n", "N", "no", "NO", "off", "Off"])(
    "%p is false",
    (value) => {
      expect(readOne(flag(), value)).toEqual({ value: false });
    },
  );

  it.each([
    "",
    " ",
    " true",
    "tru",
    "truee",
    "ja",
    "2",
    "1.0",
    "null",
    "ＯＮ",
    "x".repeat(100_000),
    2,
    -1,
    1e300,
  ])("%p cannot be interpreted", (value) => {
    expect(typeOf(faults(flag(), value))).toEqual(["bool_parsing"]);
  });

  it.each([[null], [[]], [[true]], [{}], [0.5], [NaN], [Infinity], [new Boolean(true)], [1n]])(
    "%p is none",
    (value) => {
      expect(typeOf(faults(flag(), value))).toEqual(["bool_type"]);
    },
  );
});

describe("one of several words", () => {
  it("is taken only as written", () => {
    expect(readOne(oneOf(["asc", "desc"]), "desc")).toEqual({ value: "desc" });
  });

  it.each([
    ["ASC"],
    [" asc"],
    ["asc\0"],
    [""],
    [["asc"]],
    [{ toString: () => "asc" }],
    [null],
    [1],
    ["__proto__"],
  ])("%p is none of them", (value) => {
    expect(typeOf(faults(oneOf(["asc", "desc"]), value))).toEqual(["literal_error"]);
  });
});

/** JSON bodies: what is no JSON and where it stops being some, depth, repeated and hostile keys. */
import { describe, expect, it } from "@jest/globals";
import { parseJsonBody } from "../../../../../services/shared/params/json-body.ts";
import { cpuMsOf } from "../../../../support/cpu-time.ts";

function parse(text: string): ReturnType<typeof parseJsonBody> {
  return parseJsonBody(Buffer.from(text));
}
function brokenAt(offset: number): ReturnType<typeof parseJsonBody> {
  return { failure: { loc: ["body", String(offset)], type: "json_invalid", msg: "JSON decode error" } };
}

describe("a JSON body", () => {
  it.each([
    ['{"a":[1,2.5,-0.1e3,true,false,null,"x"]}', { a: [1, 2.5, -100, true, false, null, "x"] }],
    [' \r\n\t{"a":1}\n', { a: 1 }],
    ["[]", []],
    ['"text"', "text"],
    ["null", null],
    ["0", 0],
    ['\ufeff{"a":1}', { a: 1 }],
    ['{"a":"\\u00e9\\ud83d\\ude00\\n"}', { a: "é😀\n" }],
    ['{"":1,"toString":2}', { "": 1, toString: 2 }],
  ])("%j is read", (text, value) => {
    expect(parse(text)).toEqual({ value });
  });

  it("keeps the last of a repeated key", () => {
    expect(parse('{"a":1,"b":0,"a":2}')).toEqual({ value: { a: 2, b: 0 } });
  });

  it("of no bytes is missing", () => {
    expect(parse("")).toEqual({ failure: { loc: ["body"], type: "missing", msg: "Field required" } });
  });

  it.each([
    [" ", 1],
    ["x", 0],
    ["nul", 0],
    ["NaN", 0],
    ["Infinity", 0],
    ['{"a":NaN}', 5],
    ['{"a":-Infinity}', 5],
    ["{", 1],
    ["{a:1}", 1],
    ["{'a':1}", 1],
    ['{"a"', 4],
    ['{"a" 1}', 5],
    ['{"a":}', 5],
    ['{"a":1', 6],
    ['{"a":1,}', 7],
    ['{"a":1 "b":2}', 7],
    ['{"a":1}}', 7],
    ['{"a":1} x', 8],
    ["[", 1],
    ["[1,]", 3],
    ["[1 2]", 3],
    ["[1]]", 3],
    ["01", 1],
    ["1.", 1],
    ["+1", 0],
    ["-", 0],
    ["1e", 1],
    ["0x10", 1],
    ['"abc', 0],
    ['{"a":"bc', 5],
    ['"a\nb"', 2],
    ['"a\\x41"', 2],
    ['"a\\u12"', 2],
    ['"\\', 1],
    ['{"é😀":x}', 6],
    ["{} // done", 3],
    ["undefined", 0],
    ["\ufeff", 1],
  ])("%j is broken at character %i", (text, offset) => {
    expect(parse(text)).toEqual(brokenAt(offset));
  });

  it.each([
    ["a lone byte", [0x22, 0xff, 0x22], 1],
    ["a surrogate", [0x22, 0xc3, 0xa9, 0xed, 0xa0, 0x80, 0x22], 2],
    ["an overlong NUL", [0x22, 0xc0, 0x80, 0x22], 1],
    ["a text cut short", [0x22, 0x61, 0xe2, 0x82], 2],
    ["UTF-16", [0xff, 0xfe, 0x7b, 0x00], 0],
  ])("of %s is no UTF-8", (_, bytes, offset) => {
    expect(parseJsonBody(Buffer.from(bytes))).toEqual(brokenAt(offset));
  });
});

describe("nesting", () => {
  const tooDeep = {
    failure: {
      loc: ["body"],
      type: "value_error",
      msg: "Value error, the JSON must not be nested deeper than 32 levels",
    },
  };

  it("of 32 levels is read", () => {
    expect(parse("[".repeat(32) + "]".repeat(32))).toHaveProperty("value");
    expect(parse(`${'{"a":'.repeat(32)}1${"}".repeat(32)}`)).toHaveProperty("value");
  });

  it("of 33 levels is one failure", () => {
    expect(parse("[".repeat(33) + "]".repeat(33))).toEqual(tooDeep);
    expect(parse(`${'{"a":['.repeat(17)}${"]}".repeat(17)}`)).toEqual(tooDeep);
  });

  it.each([
    ["lists", "["],
    ["objects", '{"a":'],
    ["both", '[{"a":'],
  ])("of 40 000 %s is refused quickly", (_, open) => {
    const bytes = Buffer.from(open.repeat(40_000));
    const ms = cpuMsOf(() => {
      expect(parseJsonBody(bytes)).toEqual(tooDeep);
    });
    expect(ms).toBeLessThan(500);
  });

  it("is not counted inside strings", () => {
    const brackets = "[{".repeat(100);
    expect(parse(JSON.stringify({ a: `\\"${brackets}`, [brackets]: '"' }))).toHaveProperty("value");
  });

  it("side by side is no depth", () => {
    expect(parse(`[${"[],{},".repeat(1000)}1]`)).toHaveProperty("value");
  });
});

describe("keys that reach for prototypes", () => {
  it.each([
    ['{"__proto__":{"admin":true},"a":1}', '{"a":1}'],
    ['{"a":{"b":[{"__proto__":{"admin":true}}]}}', '{"a":{"b":[{}]}}'],
    ['{"\\u005f_proto__":{"admin":true}}', "{}"],
    ['{"__proto__":null,"__proto__":{"admin":true}}', "{}"],
    ['{"constructor":{"prototype":{"admin":true}},"a":1}', '{"a":1}'],
    ['[{"constructor":{"prototype":1}}]', "[{}]"],
  ])("%s: removed", (text, rest) => {
    const parsed = parse(text);
    expect(JSON.stringify("value" in parsed && parsed.value)).toBe(rest);
    expect("value" in parsed && parsed.value).not.toHaveProperty("admin");
    expect({}).not.toHaveProperty("admin");
  });

  it.each([
    '{"constructor":"Bau AG"}',
    '{"prototype":1}',
    '{"proto":{"a":1}}',
    '"__proto__"',
    '["__proto__"]',
  ])("%s is harmless and stays", (text) => {
    const parsed = parse(text);
    expect(JSON.stringify("value" in parsed && parsed.value)).toBe(text);
  });
});

describe("a megabyte", () => {
  it.each([
    ["of an open string", `{"a":"${"x".repeat(1_000_000)}`, 5],
    ["of escapes", `"${"\\n".repeat(500_000)}`, 0],
    ["of spaces", " ".repeat(1_000_000), 1_000_000],
  ])("%s is found broken within a second", (_, text, offset) => {
    const ms = cpuMsOf(() => {
      expect(parse(text)).toEqual(brokenAt(offset));
    });
    expect(ms).toBeLessThan(1_000);
  });
});

describe("the number of values", () => {
  const refused = {
    failure: {
      loc: ["body"],
      msg: "Value error, the JSON must not hold more than 50000 values",
      type: "value_error",
    },
  };
  const list = (values: number) => `[${Array.from({ length: values }, () => "1").join(",")}]`;

  it("is bounded: a megabyte of empty lists would become twenty times as much", () => {
    expect(parse(list(50_000))).toHaveProperty("value");
    expect(parse(list(50_001))).toEqual(refused);
    expect(parse(`[${"[],".repeat(333_000)}1]`)).toEqual(refused);
    expect(parse(`{"a":${"[{},".repeat(20)}${"1,".repeat(500_000)}`)).toEqual(refused);
  });
  it("does not count what stands within texts", () => {
    expect(parse(JSON.stringify({ a: "[,{".repeat(100_000), b: '\\",,'.repeat(100_000) }))).toHaveProperty(
      "value",
    );
  });
});

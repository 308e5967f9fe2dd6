/** Texts: what they must not hold, how they are normalised, and how their length is counted. */
import { describe, expect, it } from "@jest/globals";
import { custom } from "../../../../../services/shared/params/modifiers.ts";
import { secretText, text, url } from "../../../../../services/shared/params/rules.ts";
import { faults, notTexts, readOne } from "./read-one.ts";
import { cpuMsOf } from "../../../../support/cpu-time.ts";

describe("a text", () => {
  it.each([
    ["kept as it is", text(), " a b ", " a b "],
    ["trimmed where asked", text({ trim: true }), " \t\u00a0Ann\u2003\n", "Ann"],
    ["composed", text(), "e\u0301", "é"],
    ["composed after trimming", text({ trim: true, max: 1 }), "  e\u0301 ", "é"],
    ["counted in code points", text({ min: 2, max: 2 }), "😀😀", "😀😀"],
    ["allowed to hold line breaks", text(), "a\r\n\tb", "a\r\n\tb"],
    ["allowed to be a name of the language", text(), "__proto__", "__proto__"],
    ["allowed 30 combining marks", text(), `a${"\u0323".repeat(30)}`, `ạ${"\u0323".repeat(29)}`],
  ])("is %s", (_, rule, value, expected) => {
    expect(readOne(rule, value)).toEqual({ value: expected });
  });

  it.each([
    ["NUL", "a\0b", "NUL"],
    ["a high surrogate alone", "a\ud800", "lone surrogates"],
    ["a low surrogate alone", "\udc00a", "lone surrogates"],
    ["surrogates the wrong way round", "\udc00\ud800", "lone surrogates"],
    ["a tower of marks", `a${"\u0301\u0323".repeat(40)}`, "more than 64 combining marks in a row"],
  ])("with %s is refused", (_, value, what) => {
    for (const rule of [text(), text({ trim: true }), secretText({}), url()]) {
      expect(faults(rule, value)).toEqual([`value_error: Value error, the text must not contain ${what}`]);
    }
  });

  it.each(notTexts.map((value) => [value]))("is never made of %p", (value) => {
    for (const rule of [text(), secretText({}), url()]) {
      expect(faults(rule, value)).toEqual(["string_type: Input should be a valid string"]);
    }
  });

  it("is measured after trimming and composing", () => {
    expect(faults(text({ min: 1, trim: true }), "   ")).toHaveLength(1);
    expect(faults(text({ min: 2 }), "e\u0301")).toHaveLength(1);
    expect(faults(text({ max: 1 }), "😀😀")).toHaveLength(1);
    // U+FB2C is excluded from composition: NFC makes three characters of one.
    expect(faults(text({ max: 2 }), "\ufb2c")).toHaveLength(1);
  });

  it("is bounded where no bound is stated", () => {
    expect(faults(text(), "x".repeat(100_001))).toEqual([
      "string_too_long: String should have at most 100000 characters",
    ]);
  });

  it("of a megabyte of combining marks is refused at once", () => {
    const hostile = "\u0301\u0323".repeat(250_000);
    const ms = cpuMsOf(() => {
      expect(faults(text({ max: 200, trim: true }), hostile)).toHaveLength(1);
      expect(faults(text(), hostile.slice(0, 90_000))).toHaveLength(1);
    });
    expect(ms).toBeLessThan(500);
  });

  it("is never trimmed when it is a secret", () => {
    expect(readOne(secretText({ min: 8 }), " secret ")).toEqual({ value: " secret " });
  });

  it("is held against the pattern as normalised", () => {
    expect(readOne(text({ pattern: /^[a-z]+$/, trim: true }), " ann ")).toEqual({ value: "ann" });
    expect(faults(text({ pattern: /^[a-z]+$/ }), "ann\n")).toHaveLength(1);
  });

  it("takes no pattern that remembers where it stopped", () => {
    expect(() => text({ pattern: /a/g })).toThrow("neither the flag g nor y");
    expect(() => text({ pattern: /a/y })).toThrow("neither the flag g nor y");
  });
});

describe("a check of our own", () => {
  const even = custom(
    custom(text({ trim: true }), (value) => (value.length % 2 === 0 ? undefined : "the length must be even")),
    (value) => (value.startsWith("x") ? "the text must not start with x" : undefined),
  );

  it("sees the value as it was read", () => {
    expect(readOne(even, " ab ")).toEqual({ value: "ab" });
  });

  it("answers alone, the first that fails", () => {
    expect(faults(even, "xyz")).toEqual(["value_error: Value error, the length must be even"]);
    expect(faults(even, "xy")).toEqual(["value_error: Value error, the text must not start with x"]);
  });

  it("is not asked about a value that is none", () => {
    const never = custom(text({ max: 1 }), () => {
      throw new Error("asked");
    });
    expect(faults(never, "ab")).toHaveLength(1);
    expect(faults(never, null)).toHaveLength(1);
    expect(faults(never, undefined)).toHaveLength(1);
  });
});

describe("a URL", () => {
  it.each([
    "https://example.com/hook?a=b#c",
    "http://127.0.0.1:8080",
    "HTTPS://Example.com",
    "https://bücher.example/",
  ])("%p is kept as sent", (value) => {
    expect(readOne(url(), ` ${value} `)).toEqual({ value });
  });

  it.each([
    ["", "url_parsing: Input should be a valid URL, input is empty"],
    ["//example.com", "url_parsing: Input should be a valid URL, relative URL without a base"],
    ["/hook", "url_parsing: Input should be a valid URL, relative URL without a base"],
    ["https://", "url_parsing: Input should be a valid URL, empty host"],
    ["https://?x", "url_parsing: Input should be a valid URL, empty host"],
    ["https://example.com:99999/", "url_parsing: Input should be a valid URL, invalid port number"],
    ["https://example.com:port/", "url_parsing: Input should be a valid URL, invalid port number"],
    ["https://exa mple.com", "url_parsing: Input should be a valid URL, invalid domain character"],
    ["javascript:alert(1)", "url_scheme: URL scheme should be 'http' or 'https'"],
    ["file:///etc/passwd", "url_scheme: URL scheme should be 'http' or 'https'"],
  ])("%p is refused", (value, expected) => {
    expect(faults(url(), value)).toEqual([expected]);
  });

  it("has a length", () => {
    expect(faults(url({ max: 30 }), `https://example.com/${"x".repeat(11)}`)).toEqual([
      "string_too_long: String should have at most 30 characters",
    ]);
  });
});

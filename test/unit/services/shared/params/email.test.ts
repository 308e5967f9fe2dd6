/** E-mail addresses: which are taken, and the sentences with which the others are refused. */
import { describe, expect, it } from "@jest/globals";
import { email } from "../../../../../services/shared/params/rules.ts";
import { faults, notTexts, readOne } from "./read-one.ts";
import { cpuMsOf } from "../../../../support/cpu-time.ts";

const label63 = "d".repeat(63);

describe("an e-mail address", () => {
  it.each([
    "a@b.co",
    "Ann.Smith+tag@Clinic.Example",
    "o'brien@example.com",
    "!#$%&'*+-/=?^_`{|}~@example.com",
    "x@my-clinic.example",
    "x@a--b.example",
    "x@xn--bcher-kva.example",
    "x@bücher.example",
    "jörg@example.com",
    "用户@例子.广告",
    "x@example.香港",
    "admin@clinic.local",
    `${"l".repeat(64)}@${label63}.${label63}.${"d".repeat(58)}.co`,
  ])("%p is kept as written", (value) => {
    expect(readOne(email(), value)).toEqual({ value });
  });

  it("is trimmed and composed, its case kept", () => {
    expect(readOne(email(), " Jo\u0308rg@Example.COM\n")).toEqual({ value: "Jörg@Example.COM" });
  });

  it.each([
    ["", "An email address must have an @-sign."],
    ["ann", "An email address must have an @-sign."],
    ["@example.com", "There must be something before the @-sign."],
    ["@", "There must be something before the @-sign."],
    ["ann@", "There must be something after the @-sign."],
    ["ann@example", "The part after the @-sign is not valid. It should have a period."],
    ["ann@example.123", "The part after the @-sign is not valid. It is not within a valid top-level domain."],
    ["ann@127.0.0.1", "The part after the @-sign is not valid. It is not within a valid top-level domain."],
    ["a b@example.com", "The email address contains invalid characters before the @-sign: SPACE."],
    ["a@b@example.com", "The email address contains invalid characters before the @-sign: '@'."],
    ["a,(b)@example.com", "The email address contains invalid characters before the @-sign: '(', ')', ','."],
    ["a\tb@example.com", "The email address contains invalid characters before the @-sign: U+0009."],
    [
      "a\r\nBcc: x@example.com",
      "The email address contains invalid characters before the @-sign: ':', SPACE, U+000A, U+000D.",
    ],
    ['"a b"@example.com', "The email address contains invalid characters before the @-sign: '\"', SPACE."],
    ["Ann <ann@example.com>", "The email address contains invalid characters before the @-sign: '<', SPACE."],
    ["ann@exam_ple.com", "The part after the @-sign contains invalid characters: '_'."],
    ["ann@[127.0.0.1]", "The part after the @-sign contains invalid characters: '[', ']'."],
    ["ann@example.com, b", "The part after the @-sign contains invalid characters: ',', SPACE."],
    [".ann@example.com", "An email address cannot start with a period."],
    ["ann.@example.com", "An email address cannot have a period immediately before the @-sign."],
    ["a..b@example.com", "An email address cannot have two periods in a row."],
    ["ann@example..com", "An email address cannot have two periods in a row."],
    ["ann@.example.com", "An email address cannot have a period immediately after the @-sign."],
    ["ann@example.com.", "An email address cannot end with a period."],
    ["ann@-example.com", "An email address cannot have a hyphen immediately after the @-sign."],
    ["ann@example.com-", "An email address cannot end with a hyphen."],
    ["ann@example-.com", "An email address cannot have a period and a hyphen next to each other."],
    ["ann@xn--\u00e9.com", "The part after the @-sign contains invalid characters."],
    ["a\u00a0b@example.com", "The email address contains unsafe characters."],
    ["a\u202eb@example.com", "The email address contains unsafe characters."],
    ["ann@exa\u200bmple.com", "The email address contains unsafe characters."],
    ["\u0301ann@example.com", "The email address contains unsafe characters."],
    ["ann\0@example.com", "The email address must not contain NUL."],
    ["ann\ud800@example.com", "The email address must not contain lone surrogates."],
    [
      `${"l".repeat(65)}@example.com`,
      "The email address is too long before the @-sign (1 character too many).",
    ],
    [
      `${"l".repeat(66)}@example.com`,
      "The email address is too long before the @-sign (2 characters too many).",
    ],
    [
      `a@${label63}d.com`,
      "After the @-sign, periods cannot be separated by so many characters (1 character too many).",
    ],
    [
      `a@${`${label63}.`.repeat(4)}com`,
      "The email address is too long after the @-sign (6 characters too many).",
    ],
    [
      `${"l".repeat(64)}@${label63}.${label63}.${"d".repeat(59)}.co`,
      "The email address is too long (1 character too many).",
    ],
    [`${"l".repeat(2000)}@example.com`, "The email address is too long (1758 characters too many)."],
  ])("%p is refused", (value, sentence) => {
    expect(faults(email(), value)).toEqual([`value_error: value is not a valid email address: ${sentence}`]);
  });

  it.each(notTexts.map((value) => [value]))("is never made of %p", (value) => {
    expect(faults(email(), value)).toEqual(["string_type: Input should be a valid string"]);
  });

  it("repeats no more than ten strange characters", () => {
    const strange = Array.from({ length: 60 }, (_, i) => String.fromCharCode(i < 32 ? i + 1 : i + 60)).join(
      "",
    );
    const [fault = ""] = faults(email(), `x${strange}@example.com`);
    expect(fault.split(", ").length).toBeLessThanOrEqual(10);
  });

  it.each([
    ["marks", `${"\u0301\u0323".repeat(300_000)}@example.com`],
    ["periods", `${"a.".repeat(300_000)}@`],
    ["hyphens", `a@${"a-".repeat(300_000)}`],
    ["signs", "@".repeat(600_000)],
  ])("of a megabyte of %s is refused at once", (_, value) => {
    const ms = cpuMsOf(() => {
      expect(faults(email(), value)).toHaveLength(1);
    });
    expect(ms).toBeLessThan(500);
  });
});

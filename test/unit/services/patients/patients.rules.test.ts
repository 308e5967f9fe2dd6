// Who may put a patient where, and what dates and numbers are some.
import { describe, expect, it } from "@jest/globals";
import {
  birthDateFault,
  departmentFor,
  endOfPrefix,
  phoneFault,
} from "../../../../services/patients/patients.rules.ts";

describe("the department of a patient", () => {
  it.each([
    [7, false, undefined, 7],
    [7, false, 7, 7],
    [7, true, undefined, 7],
    [7, true, null, null],
    [7, true, 8, 8],
    [null, true, undefined, null],
    [null, true, 8, 8],
  ])(
    "of someone in %j who sees all (%j), asking for %j, is %j",
    (departmentId, canSeeAllPatients, asked, given) => {
      expect(departmentFor({ departmentId, canSeeAllPatients }, asked)).toBe(given);
    },
  );

  it.each([
    [7, 8, "foreign_department"],
    [7, null, "foreign_department"],
    [null, undefined, "no_department"],
    [null, null, "no_department"],
    [null, 7, "no_department"],
  ])("of someone in %j who does not see all, asking for %j, is refused: %s", (departmentId, asked, type) => {
    const choose = () => departmentFor({ departmentId, canSeeAllPatients: false }, asked);
    expect(choose).toThrow(expect.objectContaining({ code: 403, type }));
  });
});

describe("a birth date", () => {
  const now = "2026-03-01T12:00:00.000Z";
  it.each([
    ["2026-03-02T00:00:00.000Z", true, undefined],
    ["1800-01-01T00:00:00.000Z", true, undefined],
    ["2026-03-03T00:00:00.000Z", true, /future/],
    ["1799-12-31T00:00:00.000Z", true, /1800/],
    ["0001-01-01T00:00:00.000Z", true, /1800/],
    ["2000-01-01T00:00:00.000Z", false, /without a time/],
  ])("%s (a bare date: %s)", (at, dateOnly, fault) => {
    const found = birthDateFault({ at, dateOnly }, now);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(fault);
  });
});

describe("a phone number", () => {
  it.each(["112", "+49 30 1234", "(030) 12-34.56/7", "+1234567890"])("%s is one", (phone) => {
    expect(phoneFault(phone)).toBeUndefined();
  });
  it.each(["", "12", "+", "++49123", "49+123", "12a34", "٣٣٣٣", "1 2\n3", "1".repeat(21)])(
    "%j is none",
    (phone) => {
      expect(phoneFault(phone)).toMatch(/digits/);
    },
  );
});

it("what begins with a prefix lies before its end, and nothing else does", () => {
  const end = Buffer.from(endOfPrefix("ab"));
  for (const inside of ["ab", "abz", "ab\u{10fffe}", "abÄ"])
    expect(Buffer.from(inside).compare(end)).toBe(-1);
  for (const outside of ["ac", "b", "ä"]) expect(Buffer.from(outside).compare(end)).toBe(1);
});

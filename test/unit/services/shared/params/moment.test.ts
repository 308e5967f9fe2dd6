/** Dates and date-times: what is read, as which moment, and the reasons for refusing. */
import { describe, expect, it } from "@jest/globals";
import { dateOrTime } from "../../../../../services/shared/params/rules.ts";
import { faults, notTexts, readOne } from "./read-one.ts";

describe("a date", () => {
  it.each([
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    [" 2024-02-29 ", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01", "0001-01-01T00:00:00.000Z"],
    ["0099-12-31", "0099-12-31T00:00:00.000Z"],
    ["9999-12-31", "9999-12-31T00:00:00.000Z"],
  ])("%p is the first moment of its day", (value, at) => {
    expect(readOne(dateOrTime(), value)).toEqual({ value: { at, dateOnly: true } });
  });
});

describe("a date-time", () => {
  it.each([
    ["2026-01-31T12:30", "2026-01-31T12:30:00.000Z"],
    ["2026-01-31T12:30:15", "2026-01-31T12:30:15.000Z"],
    ["2026-01-31t12:30:15z", "2026-01-31T12:30:15.000Z"],
    ["2026-01-31 12:30:15Z", "2026-01-31T12:30:15.000Z"],
    ["2026-01-31_12:30:15Z", "2026-01-31T12:30:15.000Z"],
    ["2026-01-31T12:30:15.5Z", "2026-01-31T12:30:15.500Z"],
    ["2026-01-31T12:30:15,25Z", "2026-01-31T12:30:15.250Z"],
    ["2026-01-31T12:30:15.123456Z", "2026-01-31T12:30:15.123456Z"],
    ["2026-01-31T12:30:15.123400Z", "2026-01-31T12:30:15.1234Z"],
    ["2026-01-31T12:30:15.123456789Z", "2026-01-31T12:30:15.123456Z"],
    ["2026-01-31T12:30+02:00", "2026-01-31T10:30:00.000Z"],
    ["2026-01-31T12:30:00-0330", "2026-01-31T16:00:00.000Z"],
    ["2026-01-31T12:30:00\u221201:00", "2026-01-31T13:30:00.000Z"],
    ["2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"],
    ["2026-01-31T23:59:59.999999+00:00", "2026-01-31T23:59:59.999999Z"],
  ])("%p is a moment in UTC", (value, at) => {
    expect(readOne(dateOrTime(), value)).toEqual({ value: { at, dateOnly: false } });
  });
});

describe("anything else", () => {
  it.each([
    ["", "input is too short"],
    ["2026", "input is too short"],
    ["2026-1-31", "input is too short"],
    ["1700000000", "invalid date separator, expected `-`"],
    ["yesterday!", "invalid character in year"],
    ["２０２６-01-31", "invalid character in year"],
    ["-026-01-31", "invalid character in year"],
    ["2026/01/31", "invalid date separator, expected `-`"],
    ["2026-01/31", "invalid date separator, expected `-`"],
    ["2026-ab-31", "invalid character in month"],
    ["2026-01-3x", "invalid character in day"],
    ["2026-00-31", "month value is outside expected range of 1-12"],
    ["2026-13-31", "month value is outside expected range of 1-12"],
    ["2026-01-00", "day value is outside expected range"],
    ["2026-01-32", "day value is outside expected range"],
    ["2026-02-29", "day value is outside expected range"],
    ["1900-02-29", "day value is outside expected range"],
    ["0000-01-01", "year 0000 is out of range"],
    ["2026-01-31X12:30", "invalid datetime separator, expected `T`, `t`, `_` or space"],
    ["2026-01-31T", "input is too short"],
    ["2026-01-31T12", "input is too short"],
    ["2026-01-31T12:3", "input is too short"],
    ["2026-01-31T12.30", "invalid time separator, expected `:`"],
    ["2026-01-31Tab:30", "invalid character in hour"],
    ["2026-01-31T12:ab", "invalid character in minute"],
    ["2026-01-31T12:30:ab", "invalid character in second"],
    ["2026-01-31T24:00", "hour value is outside expected range of 0-23"],
    ["2026-01-31T12:60", "minute value is outside expected range of 0-59"],
    ["2026-01-31T12:30:60", "second value is outside expected range of 0-59"],
    ["2026-01-31T12:30:15.", "second fraction digits missing after `.`"],
    ["2026-01-31T12:30:15.Z", "second fraction digits missing after `.`"],
    ["2026-01-31T12:30:15 02:00", "invalid timezone sign"],
    ["2026-01-31T12:30:15X", "invalid timezone sign"],
    ["2026-01-31T12:30:15+", "input is too short"],
    ["2026-01-31T12:30:15+02", "input is too short"],
    ["2026-01-31T12:30:15+ab:00", "invalid timezone hour"],
    ["2026-01-31T12:30:15+02:ab", "invalid timezone minute"],
    ["2026-01-31T12:30:15+24:00", "timezone offset must be less than 24 hours"],
    ["2026-01-31T12:30:15+02:60", "timezone minute value is outside expected range of 0-59"],
    ["2026-01-31T12:30:15Zz", "unexpected extra characters at the end of the input"],
    ["2026-01-31T12:30:15+02:00 ", undefined],
    ["2026-01-31T12:30:15+02:00x", "unexpected extra characters at the end of the input"],
    ["2026-01-31\0", "invalid datetime separator, expected `T`, `t`, `_` or space"],
    ["0001-01-01T00:00:00+01:00", "year value is outside expected range of 1-9999"],
    ["9999-12-31T23:59:59-01:00", "year value is outside expected range of 1-9999"],
    [`2026-01-31T12:30:15.${"1".repeat(100_000)}`, "unexpected extra characters at the end of the input"],
  ])("%p", (value, reason) => {
    const expected =
      reason === undefined
        ? `accepted {"at":"2026-01-31T10:30:15.000Z","dateOnly":false}`
        : `datetime_from_date_parsing: Input should be a valid datetime or date, ${reason}`;
    expect(faults(dateOrTime(), value)).toEqual([expected]);
  });

  it.each(notTexts.map((value) => [value]))("%p is refused as no text", (value) => {
    expect(faults(dateOrTime(), value)).toEqual(["string_type: Input should be a valid string"]);
  });
});

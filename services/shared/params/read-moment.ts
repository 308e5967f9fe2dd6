/** Parses dates and date-times, with the error reasons of the `speedate` library that Pydantic uses. */
import { type Read, refuse } from "./read-text.ts";
import { withoutTrailing } from "../trailing.ts";
import type { Moment } from "./rules.ts";

/** Longer than any valid input with a fraction; bounds the work on hostile input. */
const lengthMax = 64;
const msPerMinute = 60_000;

/** The reason why a text is not a date or date-time; thrown to end the parse at the first fault. */
class Unreadable extends Error {}

/** @returns a reader whose result is a `Moment` in UTC */
export function readMoment(): Read {
  return (value, failures) => {
    if (typeof value !== "string") return refuse(failures, "string_type", "Input should be a valid string");
    try {
      return momentFrom(value.trim());
    } catch (fault) {
      if (!(fault instanceof Unreadable)) throw fault;
      const msg = `Input should be a valid datetime or date, ${fault.message}`;
      return refuse(failures, "datetime_from_date_parsing", msg);
    }
  };
}

function momentFrom(text: string): Moment {
  if (text.length < 10) throw new Unreadable("input is too short");
  if (text.length > lengthMax) throw new Unreadable("unexpected extra characters at the end of the input");
  const day = dayFrom(text);
  if (text.length === 10) return { at: isoFrom(day, ""), dateOnly: true };
  if (!/[Tt_ ]/.test(text.charAt(10)))
    throw new Unreadable("invalid datetime separator, expected `T`, `t`, `_` or space");
  const { ms, fraction, end } = timeFrom(text, 11);
  return { at: isoFrom(day + ms - offsetFrom(text, end), fraction), dateOnly: false };
}

/** @returns the start of the day in UTC, in milliseconds since 1970 */
function dayFrom(text: string): number {
  const year = digits(text, 0, 4, "year");
  expect(text, 4, "-", "invalid date separator, expected `-`");
  const month = digits(text, 5, 2, "month");
  expect(text, 7, "-", "invalid date separator, expected `-`");
  const day = digits(text, 8, 2, "day");
  if (year === 0) throw new Unreadable("year 0000 is out of range");
  if (month < 1 || month > 12) throw new Unreadable("month value is outside expected range of 1-12");
  const date = new Date(0);
  // Unlike Date.UTC, this does not map the years 1 to 99 to 1901 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  if (day < 1 || date.getUTCMonth() !== month - 1)
    throw new Unreadable("day value is outside expected range");
  return date.getTime();
}

/** `fraction` holds the digits after the third, of at most six. */
function timeFrom(text: string, start: number): { ms: number; fraction: string; end: number } {
  const hour = inRange(digits(text, start, 2, "hour"), 23, "hour");
  expect(text, start + 2, ":", "invalid time separator, expected `:`");
  const minute = inRange(digits(text, start + 3, 2, "minute"), 59, "minute");
  const wholeMs = (hour * 60 + minute) * msPerMinute;
  if (text.charAt(start + 5) !== ":") return { ms: wholeMs, fraction: "", end: start + 5 };
  const second = inRange(digits(text, start + 6, 2, "second"), 59, "second");
  const ms = wholeMs + second * 1000;
  const sign = text.charAt(start + 8);
  if (sign !== "." && sign !== ",") return { ms, fraction: "", end: start + 8 };
  const written = /^\d*/.exec(text.slice(start + 9))?.[0] ?? "";
  if (written === "") throw new Unreadable("second fraction digits missing after `.`");
  const fraction = withoutTrailing(written.slice(3, 6), "0");
  return { ms: ms + Number(written.slice(0, 3).padEnd(3, "0")), fraction, end: start + 9 + written.length };
}

/** @returns the offset from UTC in milliseconds; 0 if none is written */
function offsetFrom(text: string, start: number): number {
  const sign = text.charAt(start);
  if (sign === "") return 0;
  if (sign === "Z" || sign === "z") {
    assertEnd(text, start + 1);
    return 0;
  }
  if (!"+-\u2212".includes(sign)) throw new Unreadable("invalid timezone sign");
  const hour = digits(text, start + 1, 2, "timezone hour");
  const minuteAt = text.charAt(start + 3) === ":" ? start + 4 : start + 3;
  const minute = digits(text, minuteAt, 2, "timezone minute");
  if (minute > 59) throw new Unreadable("timezone minute value is outside expected range of 0-59");
  if (hour > 23) throw new Unreadable("timezone offset must be less than 24 hours");
  assertEnd(text, minuteAt + 2);
  return (sign === "+" ? 1 : -1) * (hour * 60 + minute) * msPerMinute;
}

function digits(text: string, start: number, count: number, of: string): number {
  if (text.length < start + count) throw new Unreadable("input is too short");
  const part = text.slice(start, start + count);
  if (/^\d+$/.test(part)) return Number(part);
  throw new Unreadable(of.startsWith("timezone") ? `invalid ${of}` : `invalid character in ${of}`);
}

function inRange(value: number, max: number, of: string): number {
  if (value > max) throw new Unreadable(`${of} value is outside expected range of 0-${max}`);
  return value;
}

function expect(text: string, at: number, sign: string, reason: string): void {
  if (text.charAt(at) !== sign) throw new Unreadable(at >= text.length ? "input is too short" : reason);
}

function assertEnd(text: string, at: number): void {
  if (text.length > at) throw new Unreadable("unexpected extra characters at the end of the input");
}

function isoFrom(ms: number, fraction: string): string {
  const date = new Date(ms);
  // An offset can move the first and the last day out of the years that PostgreSQL reads without a sign.
  if (date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999)
    throw new Unreadable("year value is outside expected range of 1-9999");
  return fraction === "" ? date.toISOString() : `${date.toISOString().slice(0, -1)}${fraction}Z`;
}

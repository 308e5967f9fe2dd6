/**
 * Parses strings: refuses text that PostgreSQL or UTF-8 cannot hold, normalises to NFC, trims, and counts code points.
 * Plain ASCII, which is almost all input, skips the slow parts.
 */
import { failure, valueError } from "./failure.ts";
import type { Failure, TextShape } from "./types.ts";

/** Parses a value. On failure it pushes a failure, and its result is ignored. */
export type Read = (value: unknown, failures: Failure[]) => unknown;

const notPlainAscii = /[^ -~]/;
const longRunOfMarks = /\p{M}{65}/u;
const lengthMaxUnlessStated = 100_000;
/** NFC joins at most four code points into one, each at most two UTF-16 units. */
const unitsPerCharacterMax = 8;

/** @returns a reader of texts; lengths are in code points */
export function readText({ min = 0, max = lengthMaxUnlessStated, pattern, trim = false }: TextShape): Read {
  const tooShort = `String should have at least ${min} ${min === 1 ? "character" : "characters"}`;
  const tooLong = `String should have at most ${max} ${max === 1 ? "character" : "characters"}`;
  const mismatch = `String should match pattern '${pattern?.source}'`;
  return (value, failures) => {
    if (typeof value !== "string") return refuse(failures, "string_type", "Input should be a valid string");
    let read = trim ? value.trim() : value;
    // Too long in any normal form: avoids normalising it.
    if (read.length > max * unitsPerCharacterMax) return refuse(failures, "string_too_long", tooLong);
    let length = read.length;
    if (notPlainAscii.test(read)) {
      const fault = textFault(read);
      if (fault !== undefined) return void failures.push(valueError(`the text must not contain ${fault}`));
      read = read.normalize("NFC");
      length = characters(read);
    }
    if (length < min) return refuse(failures, "string_too_short", tooShort);
    if (length > max) return refuse(failures, "string_too_long", tooLong);
    if (pattern !== undefined && !pattern.test(read))
      return refuse(failures, "string_pattern_mismatch", mismatch);
    return read;
  };
}

/** Pushes a failure without a location. */
export function refuse(failures: Failure[], type: string, msg: string): undefined {
  failures.push(failure(type, msg));
}

/**
 * @returns what the text must not contain, as the end of a sentence, or undefined.
 * NFC sorts a run of combining marks in quadratic time (160,000 of them took 7 s), so the length of a run is bounded;
 * Unicode's own stream-safe format allows 30.
 */
export function textFault(value: string): string | undefined {
  if (value.includes("\0")) return "NUL";
  if (!value.isWellFormed()) return "lone surrogates";
  if (longRunOfMarks.test(value)) return "more than 64 combining marks in a row";
  return undefined;
}

function characters(value: string): number {
  let count = 0;
  for (const _ of value) count++;
  return count;
}

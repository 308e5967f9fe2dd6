/** Parses integers, booleans and literals exactly as leniently as Pydantic 2. */
import { failure } from "./failure.ts";
import { type Read, refuse } from "./read-text.ts";
import type { IntegerShape, OneOfShape } from "./types.ts";

/** The type of the failure that means "not found". It is used only within this folder. */
export const notFoundType = "not_found";

const integerText = /^[+-]?\d+(?:_\d+)*(?:\.0*)?$/;
const trueWords = new Set(["1", "t", "y", "on", "yes", "true"]);
const falseWords = new Set(["0", "f", "n", "no", "off", "false"]);
const longestWord = 5;

/** @returns a reader of safe integers within the bounds of the rule */
export function readInteger(shape: IntegerShape): Read {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER, outside } = shape;
  const tooSmall = `Input should be greater than or equal to ${min}`;
  const tooLarge = `Input should be less than or equal to ${max}`;
  return (value, failures) => {
    const number = integerFrom(value);
    if (typeof number === "string") return refuse(failures, number, integerMessages[number]);
    if (number >= min && number <= max) {
      // Adding 0 turns -0 into 0.
      if (Number.isInteger(number)) return number + 0;
    } else if (Number.isInteger(number) || Math.abs(number) === Infinity) {
      if (outside === "notFound") return refuse(failures, notFoundType, "");
      return number < min
        ? refuse(failures, "greater_than_equal", tooSmall)
        : refuse(failures, "less_than_equal", tooLarge);
    }
    return refuse(failures, "int_from_float", integerMessages.int_from_float);
  };
}

const integerMessages = {
  int_type: "Input should be a valid integer",
  int_parsing: "Input should be a valid integer, unable to parse string as an integer",
  int_from_float: "Input should be a valid integer, got a number with a fractional part",
} as const;

/** @returns the number, even if it is out of every range (then ±Infinity), or the type of the failure */
function integerFrom(value: unknown): number | "int_type" | "int_parsing" {
  if (typeof value === "number") return value;
  if (typeof value === "string") {
    const digits = value.trim();
    return integerText.test(digits) ? Number(digits.replaceAll("_", "")) : "int_parsing";
  }
  if (typeof value === "boolean") return value ? 1 : 0;
  return "int_type";
}

/** @returns the whole number that a parameter is parsed as, even if it is out of every range; undefined for other values */
export function wholeNumber(value: unknown): number | undefined {
  const number = integerFrom(value);
  return Number.isInteger(number) || number === Infinity || number === -Infinity ? Number(number) : undefined;
}

/** @returns a reader of booleans */
export function readFlag(): Read {
  return (value, failures) => {
    if (typeof value === "boolean") return value;
    if (value === 1) return true;
    if (value === 0) return false;
    if (typeof value === "string") {
      const word = value.length > longestWord ? "" : value.toLowerCase();
      if (trueWords.has(word)) return true;
      if (falseWords.has(word)) return false;
    } else if (!Number.isInteger(value)) {
      return refuse(failures, "bool_type", "Input should be a valid boolean");
    }
    return refuse(failures, "bool_parsing", "Input should be a valid boolean, unable to interpret input");
  };
}

/** @returns a reader that accepts exactly the listed texts */
export function readOneOf({ values }: OneOfShape): Read {
  const allowed: ReadonlySet<unknown> = new Set(values);
  const msg = `Input should be ${alternatives(values)}`;
  return (value, failures) => {
    if (allowed.has(value)) return value;
    failures.push(failure("literal_error", msg));
  };
}

/** @returns "'a', 'b' or 'c'" */
export function alternatives(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  const last = quoted.pop();
  return quoted.length === 0 ? `${last}` : `${quoted.join(", ")} or ${last}`;
}

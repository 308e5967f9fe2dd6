/** Rules for results only: they give types, JSON Schema and the check of answers in tests. */
import type { AnyRule, FieldInputs, Fields, FieldValues, Rule } from "./types.ts";

interface ObjectOptions {
  /** A name under which the schema may be lifted to the components of an OpenAPI document. */
  name?: string;
  description?: string;
}

/** An object with exactly these fields. */
export function object<const F extends Fields>(
  fields: F,
  options: ObjectOptions = {},
): Rule<FieldValues<F>, "required", FieldInputs<F>> {
  return { type: "object", fields, ...options };
}

/** ISO 8601 in UTC with `Z`, the format of all points in time in answers. */
export function timestamp(options: { description?: string } = {}): Rule<string> {
  return { type: "timestamp", ...options };
}

/** A day, `2001-12-31`. */
export function date(options: { description?: string } = {}): Rule<string> {
  return { type: "date", ...options };
}

/** A finite number. */
export function decimal(options: { description?: string } = {}): Rule<number> {
  return { type: "decimal", ...options };
}

/** A text, a number, a boolean, null, or a list of texts and numbers. */
export type PlainValue = string | number | boolean | null | readonly (string | number)[];

/** See `PlainValue`. */
export function plainValue(options: { description?: string } = {}): Rule<PlainValue> {
  return { type: "plainValue", ...options };
}

/**
 * An object with some known fields, all of them optional; every other field holds a value of the rule `values`. The author states
 * the type `T`; it is not checked.
 */
export function facts<T extends object>(
  known: Fields,
  values: AnyRule,
  options: ObjectOptions = {},
): Rule<T> {
  return { type: "facts", known, values, ...options };
}

/**
 * A value of one of several rules. Without a discriminator: clients that openapi-generator 7.14 makes of one do not compile
 * (typescript-fetch). And with `oneOf` two similar options would exclude each other.
 */
export function anyOf<T>(name: string, options: readonly AnyRule[]): Rule<T> {
  return { type: "anyOf", name, options };
}

/** Any JSON value. The author states the type `T`; it is not checked. */
export function json<T = unknown>(options: { description?: string } = {}): Rule<T> {
  return { type: "json", ...options };
}

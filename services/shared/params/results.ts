/** Rules that only results use: they give types, JSON Schema and the check of answers in tests. */
import type { AnyRule, FieldInputs, Fields, FieldValues, Rule } from "./types.ts";

interface ObjectOptions {
  /** A name under which the schema may be lifted to the components of an OpenAPI document. */
  name?: string;
  description?: string;
}

export function object<const F extends Fields>(
  fields: F,
  options: ObjectOptions = {},
): Rule<FieldValues<F>, "required", FieldInputs<F>> {
  return { type: "object", fields, ...options };
}

/** ISO 8601 in UTC with `Z`, as every answer writes points in time. */
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

export function plainValue(options: { description?: string } = {}): Rule<PlainValue> {
  return { type: "plainValue", ...options };
}

/**
 * An object with some fields that are known, none of which has to be there; the others hold a `values` each. `T` is the
 * author's word for it.
 */
export function facts<T extends object>(
  known: Fields,
  values: AnyRule,
  options: ObjectOptions = {},
): Rule<T> {
  return { type: "facts", known, values, ...options };
}

/**
 * One of several. Not told apart by a word beside them: the clients that generators make of a discriminator do not compile
 * (typescript-fetch of openapi-generator 7.14), and with `oneOf` two that look alike would refuse each other.
 */
export function anyOf<T>(name: string, options: readonly AnyRule[]): Rule<T> {
  return { type: "anyOf", name, options };
}

/** Any JSON value; `T` is the author's word for what it holds and is not checked. */
export function json<T = unknown>(options: { description?: string } = {}): Rule<T> {
  return { type: "json", ...options };
}

/** Rules that only results use: they give types, JSON Schema and the check of answers in tests. */
import type { FieldInputs, Fields, FieldValues, Rule } from "./types.ts";

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

/** Any JSON value; `T` is the author's word for what it holds and is not checked. */
export function json<T = unknown>(options: { description?: string } = {}): Rule<T> {
  return { type: "json", ...options };
}

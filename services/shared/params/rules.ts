/**
 * The builders by which an action declares its parameters. Each returns a plain object. The `read-*.ts` files define how a
 * value is parsed, and `modifiers.ts` how absence and null are treated.
 */
import type { AnyRule, Fields, InputValueOf, IntegerShape, Rule, ValueOf } from "./types.ts";

interface Described {
  description?: string;
  /** A valid value, for the documentation. */
  example?: unknown;
  /** The part of a custom check that JSON Schema can express. */
  schema?: Readonly<Record<string, unknown>>;
}

interface TextOptions extends Described {
  /** Lengths count characters (code points) after trimming; at most 100,000 unless set. */
  min?: number;
  max?: number;
  pattern?: RegExp;
  trim?: boolean;
  header?: string;
}

/** The largest value of PostgreSQL's `integer`, the type of all ids. */
export const idMax = 2_147_483_647;

/** A string without NUL and lone surrogates, in NFC. */
export function text(options: TextOptions = {}): Rule<string> {
  refuseStatefulPattern(options.pattern);
  return { type: "text", ...options };
}

/** A password or key: as `text`, but never trimmed. */
export function secretText(options: Omit<TextOptions, "trim" | "pattern">): Rule<string> {
  return { type: "secretText", ...options };
}

/** Trimmed, in NFC, at most 254 characters; the case is kept. */
export function email(options: Described = {}): Rule<string> {
  return { type: "email", ...options };
}

interface IntegerOptions extends Described {
  min?: number;
  max?: number;
  default?: number;
}

/** Safe integers only, parsed as leniently as by Pydantic. */
export function integer<const O extends IntegerOptions>(
  options?: O,
): Rule<number, O extends { default: number } ? "defaulted" : "required"> {
  const shape: IntegerShape = { type: "integer", ...options };
  return shape;
}

/** An id: 1 to 2,147,483,647. */
export function id(options: Described = {}): Rule<number> {
  return { type: "integer", min: 1, max: idMax, ...options };
}

/** An integer that cannot be an id cannot exist: the result is `notFound`, not a failure. */
export function pathId(options: Described = {}): Rule<number> {
  return { type: "integer", min: 1, max: idMax, outside: "notFound", ...options };
}

/** A boolean, or one of the words and digits that Pydantic accepts for one. */
export function flag(options: Described = {}): Rule<boolean> {
  return { type: "flag", ...options };
}

/** One of the listed texts. */
export function oneOf<const V extends readonly [string, ...string[]]>(
  values: V,
  options: Described & { name?: string } = {},
): Rule<V[number]> {
  return { type: "oneOf", values, ...options };
}

interface ListOptions extends Described {
  min?: number;
  /** 1,000 unless set. */
  max?: number;
  /** Refuses a second equal item; for lists of texts, numbers or booleans. */
  unique?: boolean;
}

/** A list of items of one rule. */
export function listOf<R extends AnyRule>(
  items: R,
  options: ListOptions = {},
): Rule<ValueOf<R>[], "required", InputValueOf<R>[]> {
  return { type: "listOf", items, ...options };
}

interface DictionaryOptions extends Described {
  /** The name under which the schema is moved to the components of an OpenAPI document. */
  name?: string;
  /** The keys with a meaning; a check of the field itself validates them. */
  known?: Fields;
  /** Size as JSON in UTF-8. */
  maxBytes: number;
  /** The object itself is level 1. */
  maxDepth: number;
}

/** A free-form JSON object that PostgreSQL's jsonb can hold; parsed into a copy without prototype keys. */
export function dictionary(options: DictionaryOptions): Rule<Record<string, unknown>> {
  return { type: "dictionary", ...options };
}

/** `at` is ISO 8601 in UTC with `Z`; for a bare date it is the start of the day. */
export interface Moment {
  at: string;
  dateOnly: boolean;
}

/** A date, or a date-time in which a missing offset means UTC. */
export function dateOrTime(options: Described & { dateOnly?: true } = {}): Rule<Moment, "required", string> {
  return { type: "dateOrTime", ...options };
}

interface UrlOptions extends Described {
  schemes?: readonly string[];
  max?: number;
}

/** An absolute URL. The code that connects to it decides which targets are allowed. */
export function url({ schemes = ["http", "https"], max = 2048, ...rest }: UrlOptions = {}): Rule<string> {
  return { type: "url", schemes, max, ...rest };
}

/** With `g` or `y` a pattern keeps its last position, and every second test would have another result. */
function refuseStatefulPattern(pattern: RegExp | undefined): void {
  if (pattern !== undefined && (pattern.global || pattern.sticky)) {
    throw new Error(`pattern ${pattern} must have neither the flag g nor y`);
  }
}

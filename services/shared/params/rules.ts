/**
 * The builders with which an action declares its parameters. Each answers a plain object; how a value is read
 * stands in the `read-*.ts` files, how absence and null are treated in `modifiers.ts`.
 */
import type { AnyRule, Fields, InputValueOf, IntegerShape, Rule, ValueOf } from "./types.ts";

interface Described {
  description?: string;
  /** A value that works, for the description. */
  example?: unknown;
  /** What a check of our own demands besides, as far as JSON Schema can say it. */
  schema?: Readonly<Record<string, unknown>>;
}

interface TextOptions extends Described {
  /** Lengths count characters (code points) after trimming; at most 100 000 unless stated. */
  min?: number;
  max?: number;
  pattern?: RegExp;
  trim?: boolean;
  header?: string;
}

/** The largest value of PostgreSQL's `integer`, in which all ids are kept. */
export const idMax = 2_147_483_647;

/** A string without NUL and lone surrogates, in NFC. */
export function text(options: TextOptions = {}): Rule<string> {
  refuseStatefulPattern(options.pattern);
  return { type: "text", ...options };
}

/** A password or key: like `text`, never trimmed. */
export function secretText(options: Omit<TextOptions, "trim" | "pattern">): Rule<string> {
  return { type: "secretText", ...options };
}

/** Trimmed, NFC, at most 254 characters, the case kept. */
export function email(options: Described = {}): Rule<string> {
  return { type: "email", ...options };
}

interface IntegerOptions extends Described {
  min?: number;
  max?: number;
  default?: number;
}

/** Safe integers only, read as leniently as Pydantic reads them. */
export function integer<const O extends IntegerOptions>(
  options?: O,
): Rule<number, O extends { default: number } ? "defaulted" : "required"> {
  const shape: IntegerShape = { type: "integer", ...options };
  return shape;
}

export function id(options: Described = {}): Rule<number> {
  return { type: "integer", min: 1, max: idMax, ...options };
}

/** A well-formed integer that is no possible id cannot exist: `notFound`, not a failure. */
export function pathId(options: Described = {}): Rule<number> {
  return { type: "integer", min: 1, max: idMax, outside: "notFound", ...options };
}

/** A boolean, or one of the words and digits Pydantic takes for one. */
export function flag(options: Described = {}): Rule<boolean> {
  return { type: "flag", ...options };
}

export function oneOf<const V extends readonly [string, ...string[]]>(
  values: V,
  options: Described & { name?: string } = {},
): Rule<V[number]> {
  return { type: "oneOf", values, ...options };
}

interface ListOptions extends Described {
  min?: number;
  /** 1000 unless stated. */
  max?: number;
  /** Refuses a second equal item; for lists of texts, numbers or booleans. */
  unique?: boolean;
}

export function listOf<R extends AnyRule>(
  items: R,
  options: ListOptions = {},
): Rule<ValueOf<R>[], "required", InputValueOf<R>[]> {
  return { type: "listOf", items, ...options };
}

interface DictionaryOptions extends Described {
  /** Under which the schema is lifted to the components of an OpenAPI document. */
  name?: string;
  /** The keys that mean something here; a check of the field's own sees to them. */
  known?: Fields;
  /** Size as JSON in UTF-8. */
  maxBytes: number;
  /** The object itself is level 1. */
  maxDepth: number;
}

/** A free-form JSON object that PostgreSQL's jsonb can hold; a copy without prototype tricks. */
export function dictionary(options: DictionaryOptions): Rule<Record<string, unknown>> {
  return { type: "dictionary", ...options };
}

/** `at` is ISO 8601 UTC with `Z`; of a bare date it is the day's first moment. */
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

/** An absolute URL; what it may point to is for the one who calls it to decide. */
export function url({ schemes = ["http", "https"], max = 2048, ...rest }: UrlOptions = {}): Rule<string> {
  return { type: "url", schemes, max, ...rest };
}

/** With `g` or `y` a pattern remembers where it stopped and would answer differently every other time. */
function refuseStatefulPattern(pattern: RegExp | undefined): void {
  if (pattern !== undefined && (pattern.global || pattern.sticky)) {
    throw new Error(`pattern ${pattern} must have neither the flag g nor y`);
  }
}

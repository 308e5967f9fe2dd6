/**
 * The type of a rule: a plain object that fastest-validator compiles, from which JSON Schema is made, and from which TypeScript
 * derives the handler's types. A phantom property that never exists at run time carries the value's type.
 */

/** One entry of a 422 answer; `loc` is `[place, name, ...positions]`, all strings. */
export interface Failure {
  loc: string[];
  msg: string;
  type: string;
}

export type Presence = "required" | "optional" | "defaulted";

/** A custom check: returns undefined for a valid value, otherwise the sentence after "Value error, ". */
export type OwnCheck = (value: unknown) => string | undefined;

interface Common {
  optional?: boolean;
  nullable?: boolean;
  default?: unknown;
  /** The meaning of the empty text: null, or (like null) an absent key. */
  empty?: "null" | "absent";
  checks?: readonly OwnCheck[];
  description?: string;
  /** A valid value, for the documentation. */
  example?: unknown;
  /** The part of a custom check that JSON Schema can express. */
  schema?: Readonly<Record<string, unknown>>;
  /** The wire name of a header parameter, `Provider-Signature`. */
  header?: string;
}

export interface TextShape extends Common {
  type: "text" | "secretText";
  min?: number;
  max?: number;
  pattern?: RegExp;
  trim?: boolean;
}

export interface IntegerShape extends Common {
  type: "integer";
  min?: number;
  max?: number;
  /** Out of range means "not found" (404), not "invalid" (422). */
  outside?: "notFound";
}

export interface OneOfShape extends Common {
  type: "oneOf";
  /** The name of the schema in the components of an OpenAPI document. */
  name?: string;
  values: readonly string[];
}

export interface ListShape extends Common {
  type: "listOf";
  items: RuleShape;
  min?: number;
  max?: number;
  unique?: boolean;
}

export interface DictionaryShape extends Common {
  type: "dictionary";
  /** The name of the schema in the components of an OpenAPI document. */
  name?: string;
  maxBytes: number;
  maxDepth: number;
  /** The keys with a meaning; a check of the field itself validates them. */
  known?: Readonly<Record<string, RuleShape>>;
}

/** An object with some known fields, all optional; every other field holds a value of `values`. */
export interface FactsShape extends Common {
  type: "facts";
  name?: string;
  known: Readonly<Record<string, RuleShape>>;
  values: RuleShape;
}

/** A value that fits at least one of several rules. */
export interface AnyOfShape extends Common {
  type: "anyOf";
  name: string;
  options: readonly RuleShape[];
}

export interface ObjectShape extends Common {
  type: "object";
  fields: Readonly<Record<string, RuleShape>>;
  /** The name of the schema in the components of an OpenAPI document. */
  name?: string;
  /** The fields are in the order in which they were stored, not in the declared one. */
  anyOrder?: true;
}

export interface UrlShape extends Common {
  type: "url";
  schemes: readonly string[];
  max: number;
}

interface MomentShape extends Common {
  type: "dateOrTime";
  /** A date is expected; a check of the field itself enforces it. */
  dateOnly?: true;
}

interface PlainShape extends Common {
  type: "email" | "flag" | "timestamp" | "date" | "decimal" | "json" | "plainValue";
}

export type RuleShape =
  | TextShape
  | IntegerShape
  | OneOfShape
  | ListShape
  | DictionaryShape
  | FactsShape
  | AnyOfShape
  | ObjectShape
  | UrlShape
  | MomentShape
  | PlainShape;

declare const phantom: unique symbol;

/** `T` is the type for the handler, `I` the type for the caller, `P` whether the key may be absent. */
export type Rule<T, P extends Presence = "required", I = T> = RuleShape & {
  readonly [phantom]?: { value: T; presence: P; input: I };
};

export type AnyRule = Rule<unknown, Presence, unknown>;
export type Fields = Readonly<Record<string, AnyRule>>;

export const paramSources = ["path", "query", "header", "body"] as const;
export type ParamSource = (typeof paramSources)[number];

/** Parameters by the place in which they are sent; a name is unique over all places. */
export type ParamSources = { readonly [P in ParamSource]?: Fields };

type Carried<R> = R extends { readonly [phantom]?: infer C } ? NonNullable<C> : never;
export type ValueOf<R> = Carried<R> extends { value: infer T } ? T : never;
export type InputValueOf<R> = Carried<R> extends { input: infer I } ? I : never;
type PresenceOf<R> = Carried<R> extends { presence: infer P } ? P : never;

type Flatten<T> = { [K in keyof T]: T[K] };
type KeysWith<F, P extends Presence> = { [K in keyof F]: PresenceOf<F[K]> extends P ? K : never }[keyof F];

/** The type for a handler: defaults are filled in, optional keys may be absent. */
export type FieldValues<F> = Flatten<
  { [K in KeysWith<F, "required" | "defaulted">]: ValueOf<F[K]> } & {
    [K in KeysWith<F, "optional">]?: ValueOf<F[K]>;
  }
>;

/** The type for a caller: keys with a default may be absent too. */
export type FieldInputs<F> = Flatten<
  { [K in KeysWith<F, "required">]: InputValueOf<F[K]> } & {
    [K in KeysWith<F, "optional" | "defaulted">]?: InputValueOf<F[K]>;
  }
>;

type At<P, N extends ParamSource> = P extends { readonly [K in N]: infer F } ? F : unknown;
type Merged<P> = Flatten<At<P, "path"> & At<P, "query"> & At<P, "header"> & At<P, "body">>;

export type ParamsOf<P> = FieldValues<Merged<P>>;
export type InputOf<P> = FieldInputs<Merged<P>>;

/**
 * What a rule is: a plain object that fastest-validator compiles, JSON Schema is made from, and TypeScript
 * reads the handler's types off. The value's type rides along as a phantom property that never exists at run time.
 */

/** One entry of a 422 answer; `loc` is `[place, name, ...positions]`, all strings. */
export interface Failure {
  loc: string[];
  msg: string;
  type: string;
}

export type Presence = "required" | "optional" | "defaulted";

/** A check of our own: undefined when fine, else the sentence after "Value error, ". */
export type OwnCheck = (value: unknown) => string | undefined;

interface Common {
  optional?: boolean;
  nullable?: boolean;
  default?: unknown;
  /** How the empty text reads: as null, or (null too) as if nothing had been sent. */
  empty?: "null" | "absent";
  checks?: readonly OwnCheck[];
  description?: string;
  /** A value that works, for the description. */
  example?: unknown;
  /** What a check of our own demands, as far as JSON Schema can say it. */
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
  /** Out of range means "no such thing" (404), not "badly written" (422). */
  outside?: "notFound";
}

export interface OneOfShape extends Common {
  type: "oneOf";
  /** For lifting the schema to the components of an OpenAPI document. */
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
  /** For lifting the schema to the components of an OpenAPI document. */
  name?: string;
  maxBytes: number;
  maxDepth: number;
  /** The keys that mean something here; a check of the field's own sees to them. */
  known?: Readonly<Record<string, RuleShape>>;
}

/** Of an object: some fields by name, none of which has to be there; any other holds a `values`. */
export interface FactsShape extends Common {
  type: "facts";
  name?: string;
  known: Readonly<Record<string, RuleShape>>;
  values: RuleShape;
}

/** A value that fits one of several rules or more. */
export interface AnyOfShape extends Common {
  type: "anyOf";
  name: string;
  options: readonly RuleShape[];
}

export interface ObjectShape extends Common {
  type: "object";
  fields: Readonly<Record<string, RuleShape>>;
  /** For lifting the schema to the components of an OpenAPI document. */
  name?: string;
  /** Its fields come as they were stored, not in the declared order. */
  anyOrder?: true;
}

export interface UrlShape extends Common {
  type: "url";
  schemes: readonly string[];
  max: number;
}

interface MomentShape extends Common {
  type: "dateOrTime";
  /** A date is asked for; a check of the field's own sees to it. */
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

declare const carried: unique symbol;

/** `T` is what a handler gets, `I` what a caller passes, `P` whether the key may be absent. */
export type Rule<T, P extends Presence = "required", I = T> = RuleShape & {
  readonly [carried]?: { value: T; presence: P; input: I };
};

export type AnyRule = Rule<unknown, Presence, unknown>;
export type Fields = Readonly<Record<string, AnyRule>>;

export const paramSources = ["path", "query", "header", "body"] as const;
export type ParamSource = (typeof paramSources)[number];

/** Parameters by where they travel; names are unique over all places. */
export type ParamSources = { readonly [P in ParamSource]?: Fields };

type Carried<R> = R extends { readonly [carried]?: infer C } ? NonNullable<C> : never;
export type ValueOf<R> = Carried<R> extends { value: infer T } ? T : never;
export type InputValueOf<R> = Carried<R> extends { input: infer I } ? I : never;
type PresenceOf<R> = Carried<R> extends { presence: infer P } ? P : never;

type Flatten<T> = { [K in keyof T]: T[K] };
type KeysWith<F, P extends Presence> = { [K in keyof F]: PresenceOf<F[K]> extends P ? K : never }[keyof F];

/** What a handler reads: defaults are in, optional keys may be absent. */
export type FieldValues<F> = Flatten<
  { [K in KeysWith<F, "required" | "defaulted">]: ValueOf<F[K]> } & {
    [K in KeysWith<F, "optional">]?: ValueOf<F[K]>;
  }
>;

/** What a caller passes: keys with a default may be absent too. */
export type FieldInputs<F> = Flatten<
  { [K in KeysWith<F, "required">]: InputValueOf<F[K]> } & {
    [K in KeysWith<F, "optional" | "defaulted">]?: InputValueOf<F[K]>;
  }
>;

type At<P, N extends ParamSource> = P extends { readonly [K in N]: infer F } ? F : unknown;
type Merged<P> = Flatten<At<P, "path"> & At<P, "query"> & At<P, "header"> & At<P, "body">>;

export type ParamsOf<P> = FieldValues<Merged<P>>;
export type InputOf<P> = FieldInputs<Merged<P>>;

/**
 * Translates rules to JSON Schema 2020-12, as OpenAPI 3.1 embeds it. The schema describes what a well-behaved client sends; the
 * lenient readings (`"12"` for 12) are not part of it.
 */
import type { DictionaryShape, ListShape, ObjectShape, RuleShape, TextShape } from "./types.ts";

export interface JsonSchema {
  [keyword: string]: unknown;
}

/** Called for a rule with a name. Returns its replacement, `{ $ref: … }`. */
export type Lift = (name: string, schema: JsonSchema) => JsonSchema;

/** @param lift replaces the schemas of rules with a name; absent: all schemas are inline */
export function toJsonSchema(shape: RuleShape, lift?: Lift): JsonSchema {
  const named = "name" in shape ? shape.name : undefined;
  const bare = {
    ...valueSchema(shape, lift),
    ...shape.schema,
    ...(named === undefined ? {} : { title: named }),
  };
  const schema = named === undefined || lift === undefined ? bare : lift(named, bare);
  return {
    ...(shape.nullable === true ? orNull(schema) : schema),
    ...(shape.description === undefined ? {} : { description: shape.description }),
    ...(shape.default === undefined ? {} : { default: shape.default }),
    ...(shape.example === undefined ? {} : { examples: [shape.example] }),
  };
}

function valueSchema(shape: RuleShape, lift: Lift | undefined): JsonSchema {
  switch (shape.type) {
    case "text":
      return textSchema(shape);
    case "secretText":
      return { ...textSchema(shape), format: "password" };
    case "email":
      return { type: "string", format: "email", maxLength: 254 };
    case "url":
      return { type: "string", format: "uri", maxLength: shape.max };
    case "dateOrTime":
      // "One of two formats" in a schema breaks generated clients; a plain string does not.
      return shape.dateOnly === true
        ? { type: "string", format: "date", examples: ["2001-12-31"] }
        : { type: "string", examples: ["2026-01-31", "2026-01-31T12:00:00Z"] };
    case "date":
      return { type: "string", format: "date" };
    case "timestamp":
      return { type: "string", format: "date-time" };
    case "integer":
      return { type: "integer", ...given({ minimum: shape.min, maximum: shape.max }) };
    case "decimal":
      return { type: "number" };
    case "flag":
      return { type: "boolean" };
    case "oneOf":
      return { type: "string", enum: [...shape.values] };
    case "listOf":
      return listSchema(shape, lift);
    case "dictionary":
      return dictionarySchema(shape, lift);
    case "facts":
      return openSchema(shape.known, toJsonSchema(shape.values, lift), lift);
    case "anyOf":
      return { anyOf: shape.options.map((each) => toJsonSchema(each, lift)) };
    case "object":
      return objectSchema(shape, lift);
    case "plainValue":
      return {
        type: ["string", "number", "boolean", "array", "null"],
        items: { type: ["string", "number"] },
      };
    case "json":
      return {};
  }
}

function textSchema({ min, max, pattern }: TextShape): JsonSchema {
  return { type: "string", ...given({ minLength: min, maxLength: max, pattern: pattern?.source }) };
}

function listSchema({ items, min, max, unique }: ListShape, lift: Lift | undefined): JsonSchema {
  return {
    type: "array",
    items: toJsonSchema(items, lift),
    ...given({ minItems: min, maxItems: max, uniqueItems: unique }),
  };
}

/** JSON Schema has no keyword for size and depth, so both have names of ours. */
function dictionarySchema({ known = {}, maxBytes, maxDepth }: DictionaryShape, lift?: Lift): JsonSchema {
  return { ...openSchema(known, true, lift), "x-max-bytes": maxBytes, "x-max-depth": maxDepth };
}

function openSchema(known: ObjectShape["fields"], values: JsonSchema | true, lift?: Lift): JsonSchema {
  const properties = Object.entries(known).map(([name, shape]) => [name, toJsonSchema(shape, lift)] as const);
  return {
    type: "object",
    ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
    additionalProperties: values,
  };
}

/** A field is required unless it may be absent. In results a field with a default is always present. */
export function objectSchema({ fields }: Pick<ObjectShape, "fields">, lift?: Lift): JsonSchema {
  const entries = Object.entries(fields);
  const required = entries.filter(([, shape]) => isRequired(shape)).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, shape]) => [name, toJsonSchema(shape, lift)])),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Whether a caller must send the field. */
export function isRequired(shape: RuleShape): boolean {
  return shape.optional !== true && shape.default === undefined;
}

function orNull(schema: JsonSchema): JsonSchema {
  if (typeof schema.type !== "string" || "anyOf" in schema) {
    return Object.keys(schema).length === 0 ? schema : { anyOf: [schema, { type: "null" }] };
  }
  const values = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  return { ...schema, type: [schema.type, "null"], ...values };
}

function given(keywords: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(keywords).filter(([, value]) => value !== undefined));
}

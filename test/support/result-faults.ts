/**
 * Compares an answer with its declared result; tests do this for every answer. Unlike the parsing of
 * parameters it is strict: nothing is converted, no field may be added, and fields keep their declared order.
 */
import type {
  AnyOfShape,
  DictionaryShape,
  FactsShape,
  IntegerShape,
  ListShape,
  ObjectShape,
  RuleShape,
} from "../../services/shared/params/types.ts";

/** @returns a sentence per fault, each with its path (`$.items.0.id: …`); empty if the answer matches */
export function resultFaults(shape: RuleShape, value: unknown, at = "$"): string[] {
  if (value === null && shape.nullable === true) return [];
  if (shape.type === "listOf") return listFaults(shape, value, at);
  if (shape.type === "object") return objectFaults(shape, value, at);
  if (shape.type === "anyOf") return anyOfFaults(shape, value, at);
  if (shape.type === "facts") return factsFaults(shape, value, at);
  if (shape.type === "dictionary")
    return factsFaults({ known: shape.known ?? {}, values: { type: "json" } }, value, at);
  return holds(shape, value) ? [] : [`${at}: is no ${shape.type}`];
}

type LeafShape = Exclude<RuleShape, ListShape | ObjectShape | AnyOfShape | FactsShape | DictionaryShape>;

function holds(shape: LeafShape, value: unknown): boolean {
  switch (shape.type) {
    case "flag":
      return typeof value === "boolean";
    case "integer":
      return isWithin(shape, value);
    case "oneOf":
      return typeof value === "string" && shape.values.includes(value);
    case "decimal":
      return typeof value === "number" && Number.isFinite(value);
    case "json":
      return value !== undefined;
    case "plainValue":
      return isPlain(value) || (Array.isArray(value) && value.every(isTextOrNumber));
    case "date":
      return typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value);
    case "timestamp":
      return typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(value);
    default:
      return typeof value === "string";
  }
}

const isTextOrNumber = (value: unknown) => typeof value === "string" || Number.isFinite(value);
const isPlain = (value: unknown) => value === null || typeof value === "boolean" || isTextOrNumber(value);

function isWithin({ min = -Infinity, max = Infinity }: IntegerShape, value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}

function listFaults({ items }: ListShape, value: unknown, at: string): string[] {
  if (!Array.isArray(value)) return [`${at}: is no list`];
  return value.flatMap((item, index) => resultFaults(items, item, `${at}.${index}`));
}

function anyOfFaults({ name, options }: AnyOfShape, value: unknown, at: string): string[] {
  const fits = options.some((each) => resultFaults(each, value, at).length === 0);
  return fits ? [] : [`${at}: is none of ${name}`];
}

function factsFaults({ known, values }: Pick<FactsShape, "known" | "values">, value: unknown, at: string) {
  if (!isObject(value)) return [`${at}: is no object`];
  return Object.entries(value).flatMap(([name, each]) => {
    const own = Object.hasOwn(known, name) ? known[name] : undefined;
    return resultFaults(own ?? values, each, `${at}.${name}`);
  });
}

function objectFaults({ fields, anyOrder }: ObjectShape, value: unknown, at: string): string[] {
  if (!isObject(value)) return [`${at}: is no object`];
  const present = Object.keys(value);
  const declared = Object.keys(fields);
  const unknown = present
    .filter((name) => !declared.includes(name))
    .map((name) => `${at}.${name}: is not declared`);
  const expected = declared.filter((name) => present.includes(name));
  const order = expected.join() === present.filter((name) => declared.includes(name)).join();
  const faults = Object.entries(fields).flatMap(([name, shape]) => {
    if (Object.hasOwn(value, name)) return resultFaults(shape, value[name], `${at}.${name}`);
    return shape.optional === true ? [] : [`${at}.${name}: is absent`];
  });
  return [...unknown, ...faults, ...(order || anyOrder === true ? [] : [`${at}: fields are out of order`])];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

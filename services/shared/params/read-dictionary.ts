/**
 * Reads free-form JSON objects into a fresh copy: bounded in depth and size, without NUL (jsonb cannot hold it),
 * and without the keys with which prototypes are polluted.
 */
import { refuse, type Read } from "./read-text.ts";
import { valueError } from "./failure.ts";
import type { DictionaryShape } from "./types.ts";

export function readDictionary({ maxBytes, maxDepth }: DictionaryShape): Read {
  return (value, failures) => {
    if (!isDictionary(value)) return refuse(failures, "dict_type", "Input should be a valid dictionary");
    try {
      const copy = copyObject(value, maxDepth);
      if (Buffer.byteLength(JSON.stringify(copy)) <= maxBytes) return copy;
      failures.push(valueError(`the object must not be larger than ${maxBytes} bytes`));
    } catch (fault) {
      if (!(fault instanceof Unstorable)) throw fault;
      failures.push(
        valueError(
          fault.tooDeep ? `the object must not be nested deeper than ${maxDepth} levels` : fault.message,
        ),
      );
    }
    return undefined;
  };
}

/** Why a value cannot be stored; thrown to leave the walk at its first fault. */
class Unstorable extends Error {
  readonly tooDeep: boolean;
  constructor(sentence: string, tooDeep = false) {
    super(sentence);
    this.tooDeep = tooDeep;
  }
}

function isDictionary(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** The recursion is bounded by `levels`. */
function copyObject(source: Record<string, unknown>, levels: number): Record<string, unknown> {
  if (levels === 0) throw new Unstorable("", true);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(source)) {
    const value = source[key];
    if (value === undefined || isPrototypeTrick(key, value)) continue;
    copy[storableText(key)] = copyValue(value, levels);
  }
  return copy;
}

function copyValue(value: unknown, levels: number): unknown {
  if (typeof value === "string") return storableText(value);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      throw new Unstorable("the object must not contain numbers that are out of range");
    return value;
  }
  if (Array.isArray(value)) {
    if (levels === 1) throw new Unstorable("", true);
    return Array.from(value, (item: unknown) => copyValue(item ?? null, levels - 1));
  }
  if (isDictionary(value)) return copyObject(value, levels - 1);
  throw new Unstorable("the object must contain JSON values only");
}

function storableText(value: string): string {
  if (value.includes("\0")) throw new Unstorable("the object must not contain NUL");
  if (!value.isWellFormed()) throw new Unstorable("the object must not contain lone surrogates");
  return value;
}

function isPrototypeTrick(key: string, value: unknown): boolean {
  if (key === "__proto__") return true;
  return (
    key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype")
  );
}

/**
 * Copies free-form JSON objects: bounded in depth and size, without NUL (jsonb cannot hold it),
 * and without the keys that pollute prototypes.
 */
import { refuse, type Read } from "./read-text.ts";
import { valueError } from "./failure.ts";
import type { DictionaryShape } from "./types.ts";

/** @returns a reader that copies the object; failures are `dict_type` or `value_error` */
export function readDictionary({ maxBytes, maxDepth }: DictionaryShape): Read {
  return (value, failures) => {
    if (!isDictionary(value)) return refuse(failures, "dict_type", "Input should be a valid dictionary");
    try {
      const copy = copyObject(value, maxDepth, new ByteBudget(maxBytes));
      if (Buffer.byteLength(JSON.stringify(copy)) <= maxBytes) return copy;
      failures.push(tooLarge(maxBytes));
    } catch (fault) {
      if (!(fault instanceof Unstorable)) throw fault;
      const tooDeep = `the object must not be nested deeper than ${maxDepth} levels`;
      const { reason, message } = fault;
      if (reason === "size") failures.push(tooLarge(maxBytes));
      else failures.push(valueError(reason === "depth" ? tooDeep : message));
    }
    return undefined;
  };
}

const tooLarge = (maxBytes: number) => valueError(`the object must not be larger than ${maxBytes} bytes`);

/** Why a value cannot be stored; thrown to end the copy at the first fault. */
class Unstorable extends Error {
  readonly reason: "depth" | "size" | "value";
  constructor(sentence: string, reason: Unstorable["reason"] = "value") {
    super(sentence);
    this.reason = reason;
  }
}

/**
 * The bytes that are left, counted by the least that each value takes as JSON text: its length and, for a string, its quotes. So
 * the copy of an object that is far too large ends early. The exact size is measured afterwards on the text.
 */
class ByteBudget {
  #left: number;
  constructor(bytes: number) {
    this.#left = bytes;
  }
  take(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new Unstorable("", "size");
  }
}

function isDictionary(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** `levels` bounds the recursion. */
function copyObject(
  source: Record<string, unknown>,
  levels: number,
  room: ByteBudget,
): Record<string, unknown> {
  if (levels === 0) throw new Unstorable("", "depth");
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(source)) {
    const value = source[key];
    if (value === undefined || isPrototypeTrick(key, value)) continue;
    // The quotes and the colon.
    room.take(key.length + 3);
    copy[storableText(key)] = copyValue(value, levels, room);
  }
  return copy;
}

function copyValue(value: unknown, levels: number, room: ByteBudget): unknown {
  room.take(typeof value === "string" ? value.length + 2 : 1);
  if (typeof value === "string") return storableText(value);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      throw new Unstorable("the object must not contain numbers that are out of range");
    return value;
  }
  if (Array.isArray(value)) {
    if (levels === 1) throw new Unstorable("", "depth");
    return Array.from(value, (item: unknown) => copyValue(item ?? null, levels - 1, room));
  }
  if (isDictionary(value)) return copyObject(value, levels - 1, room);
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

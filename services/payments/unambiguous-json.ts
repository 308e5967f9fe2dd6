// Detects JSON that parsers may read differently: a key used twice, an unpaired surrogate, or a number that
// no double holds exactly. Only the fields that are read, or that a signature covers by their meaning, must
// be free of that, because providers may add any fields. Nesting deeper than 32 levels, other encodings and
// malformed JSON are refused by the parser that all bodies share.
import { parseJsonBody } from "../shared/params/json-body.ts";
import { valueError } from "../shared/params/failure.ts";
import type { Failure } from "../shared/params/types.ts";
import { withoutTrailing } from "../shared/trailing.ts";

/** The depth of the deepest field that is read: `data.object.metadata.tenant`. */
const readDepthMax = 4;
/** Any decimal with this many digits corresponds to a double of its own. */
const exactDigits = 15;
const number = /-?\d[\d.eE+-]*/y;
const nonSpace = /[^ \t\r\n]/g;

export type Ambiguity = "repeated" | "half" | "inexact" | "infinite";

const sentences: Readonly<Record<Ambiguity, string>> = {
  repeated: "the JSON must not name a key twice",
  half: "the JSON must not contain half a character",
  inexact: "the JSON must not contain a number that is not exact",
  infinite: "the JSON must not contain a number beyond all doubles",
};

/** Called for each ambiguity with its path: the keys that lead to it, "*" for an element of a list. */
export type OnAmbiguity = (ambiguity: Ambiguity, path: readonly string[]) => void;

/** An object or list whose end was not reached yet. */
interface OpenContainer {
  /** The keys of an object so far; undefined for a list. */
  keys: Set<string> | undefined;
}

/** A parsed body. */
export interface Parsed {
  /** Without the keys that the shared parser removes. */
  value: unknown;
  text: string;
}

/** @param onAmbiguity called for each ambiguity; may throw to stop */
export function parseNotification(bytes: Buffer, onAmbiguity: OnAmbiguity): Parsed | { failure: Failure } {
  const parsed = parseJsonBody(bytes);
  if ("failure" in parsed) return parsed;
  const text = bytes.toString();
  // A byte order mark is invalid in JSON (RFC 8259), though the shared parser accepts it.
  if (text.startsWith("\ufeff"))
    return { failure: { ...valueError("the JSON must not begin with a byte order mark"), loc: ["body"] } };
  findAmbiguities(text, onAmbiguity);
  return { value: parsed.value, text };
}

/** The ambiguities by path. Those deeper than any field that is read are dropped, which bounds the memory. */
export class Ambiguities {
  readonly #found = new Map<string, Ambiguity>();

  readonly record: OnAmbiguity = (ambiguity, path) => {
    if (path.length <= readDepthMax) this.#found.set(path.join("\n"), ambiguity);
  };

  /** The ambiguity of the value at this path itself, not of its contents. */
  at(path: readonly string[]): Ambiguity | undefined {
    return this.#found.get(path.join("\n"));
  }
}

/** The fault for an ambiguous field. */
export function ambiguous(ambiguity: Ambiguity): Failure {
  return valueError(sentences[ambiguity]);
}

/** @param text valid JSON */
function findAmbiguities(text: string, onAmbiguity: OnAmbiguity): void {
  const open: OpenContainer[] = [];
  // The key, or "*", of each open object or list. The parser has bounded the depth.
  const path: string[] = [];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? "";
    if (sign === "{" || sign === "[") {
      open.push({ keys: sign === "{" ? new Set() : undefined });
      path.push("*");
    } else if (sign === "}" || sign === "]") {
      open.pop();
      path.pop();
    } else if (sign === '"') {
      const end = endOfString(text, at);
      checkString(stringIn(text.slice(at, end)), isKey(text, end), open.at(-1)?.keys, path, onAmbiguity);
      at = end - 1;
    } else if (sign === "-" || (sign >= "0" && sign <= "9")) {
      number.lastIndex = at;
      const [literal = ""] = number.exec(text) ?? [];
      if (!Number.isFinite(Number(literal))) onAmbiguity("infinite", path);
      else if (!isExact(literal)) onAmbiguity("inexact", path);
      at += literal.length - 1;
    }
  }
}

function checkString(
  string: string,
  named: boolean,
  keys: Set<string> | undefined,
  path: string[],
  onAmbiguity: OnAmbiguity,
): void {
  if (named) {
    path[path.length - 1] = string;
    if (keys?.has(string)) onAmbiguity("repeated", path);
    keys?.add(string);
  }
  if (!string.isWellFormed()) onAmbiguity("half", path);
}

function isKey(text: string, end: number): boolean {
  nonSpace.lastIndex = end;
  return nonSpace.exec(text)?.[0] === ":";
}

/** @returns the offset after the closing quote */
function endOfString(text: string, open: number): number {
  let at = open + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

const stringIn = (quoted: string): string =>
  quoted.includes("\\") ? JSON.parse(quoted) : quoted.slice(1, -1);

function isExact(literal: string): boolean {
  const value = Number(literal);
  if (Number.isSafeInteger(value) && /^-?\d+$/.test(literal)) return true;
  const digits = withoutTrailing((literal.split(/[eE]/)[0] ?? "").replace(/[-.]/g, ""), "0");
  let zeros = 0;
  while (digits.charAt(zeros) === "0") zeros++;
  const significant = digits.length - zeros;
  return significant <= exactDigits && (value !== 0 || significant === 0);
}

// JSON of which is known what every reader reads alike. Two parsers may disagree about a key written twice, about half a
// character, or about a number that no double holds exactly. Only what is read, or what a signature covers by its
// meaning, has to be free of that: providers add fields as they like. Deeper than 32 levels, another encoding and
// broken JSON are refused by the parser that all bodies share.
import { parseJsonBody } from "../shared/params/json-body.ts";
import { valueError } from "../shared/params/failure.ts";
import type { Failure } from "../shared/params/types.ts";
import { withoutTrailing } from "../shared/trailing.ts";

/** `data.object.metadata.tenant` */
const readDepthMax = 4;
/** Any decimal of so many digits is a double of its own. */
const exactDigits = 15;
const number = /-?\d[\d.eE+-]*/y;
const behindSpaces = /[^ \t\r\n]/g;

export type Ambiguity = "repeated" | "half" | "inexact" | "infinite";

const sentences: Readonly<Record<Ambiguity, string>> = {
  repeated: "the JSON must not name a key twice",
  half: "the JSON must not contain half a character",
  inexact: "the JSON must not contain a number that is not exact",
  infinite: "the JSON must not contain a number beyond all doubles",
};

/** Called for what is ambiguous, where it stands: the keys on the way to it, "*" for a place in a list. */
export type Meet = (ambiguity: Ambiguity, path: readonly string[]) => void;

interface Open {
  /** Those of an object so far; of a list none. */
  keys: Set<string> | undefined;
}

export interface Parsed {
  /** Without the keys that the shared parser takes away. */
  value: unknown;
  text: string;
}

/** @param meet may throw to leave */
export function parseNotification(bytes: Buffer, meet: Meet): Parsed | { failure: Failure } {
  const parsed = parseJsonBody(bytes);
  if ("failure" in parsed) return parsed;
  const text = bytes.toString();
  // A byte order mark is no JSON (RFC 8259), though the shared parser lets it pass.
  if (text.startsWith("\ufeff"))
    return { failure: { ...valueError("the JSON must not begin with a byte order mark"), loc: ["body"] } };
  findAmbiguities(text, meet);
  return { value: parsed.value, text };
}

/** What is ambiguous, by where it stands; of what is deeper than anything that is read nothing is kept. */
export class Ambiguities {
  readonly #found = new Map<string, Ambiguity>();

  readonly note: Meet = (ambiguity, path) => {
    if (path.length <= readDepthMax) this.#found.set(path.join("\n"), ambiguity);
  };

  /** Of what stands there itself; what is in it may be ambiguous too. */
  at(path: readonly string[]): Ambiguity | undefined {
    return this.#found.get(path.join("\n"));
  }
}

export function ambiguous(ambiguity: Ambiguity): Failure {
  return valueError(sentences[ambiguity]);
}

/** @param text valid JSON */
function findAmbiguities(text: string, meet: Meet): void {
  const open: Open[] = [];
  // The key, or "*", in each of what is open; as long as the nesting is deep, which the parser has bounded.
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
      takeString(stringIn(text.slice(at, end)), isKey(text, end), open.at(-1)?.keys, path, meet);
      at = end - 1;
    } else if (sign === "-" || (sign >= "0" && sign <= "9")) {
      number.lastIndex = at;
      const [literal = ""] = number.exec(text) ?? [];
      if (!Number.isFinite(Number(literal))) meet("infinite", path);
      else if (!isExact(literal)) meet("inexact", path);
      at += literal.length - 1;
    }
  }
}

function takeString(
  string: string,
  named: boolean,
  keys: Set<string> | undefined,
  path: string[],
  meet: Meet,
): void {
  if (named) {
    path[path.length - 1] = string;
    if (keys?.has(string)) meet("repeated", path);
    keys?.add(string);
  }
  if (!string.isWellFormed()) meet("half", path);
}

function isKey(text: string, end: number): boolean {
  behindSpaces.lastIndex = end;
  return behindSpaces.exec(text)?.[0] === ":";
}

/** @returns the offset behind the closing quote */
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

// JSON that every reader reads alike. Two parsers may disagree about a key written twice, or about a number that no
// double holds exactly; what is signed by its meaning (RFC 8785) must not be open to that. Deeper than 32 levels,
// another encoding and broken JSON are refused by the parser that all bodies share.
import { parseJsonBody } from "../shared/params/json-body.ts";
import { valueError } from "../shared/params/failure.ts";
import type { Failure } from "../shared/params/types.ts";
import { withoutTrailing } from "../shared/trailing.ts";

/** Any decimal of so many digits is a double of its own. */
const exactDigits = 15;
const number = /-?\d[\d.eE+-]*/y;
const behindSpaces = /[^ \t\r\n]/g;

/** @returns the value without the keys that the shared parser takes away, and its text; or what is wrong as a whole */
export function readUnambiguous(bytes: Buffer): { value: unknown; text: string } | { failure: Failure } {
  const parsed = parseJsonBody(bytes);
  if ("failure" in parsed) return parsed;
  const text = bytes.toString();
  const sentence = ambiguityOf(text);
  if (sentence !== undefined) return { failure: { ...valueError(sentence), loc: ["body"] } };
  return { value: parsed.value, text };
}

/** @param text valid JSON */
function ambiguityOf(text: string): string | undefined {
  // A byte order mark is no JSON (RFC 8259), though the shared parser lets it pass.
  if (text.startsWith("\ufeff")) return "the JSON must not begin with a byte order mark";
  // The keys of each object that is open; of a list none.
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? "";
    if (sign === "{" || sign === "[") open.push(new Set());
    else if (sign === "}" || sign === "]") open.pop();
    else if (sign === '"') {
      const end = endOfString(text, at);
      const string = stringIn(text.slice(at, end));
      if (!string.isWellFormed()) return "the JSON must not contain half a character";
      behindSpaces.lastIndex = end;
      if (behindSpaces.exec(text)?.[0] === ":") {
        if (open.at(-1)?.has(string)) return "the JSON must not name a key twice";
        open.at(-1)?.add(string);
      }
      at = end - 1;
    } else if (sign === "-" || (sign >= "0" && sign <= "9")) {
      number.lastIndex = at;
      const [literal = ""] = number.exec(text) ?? [];
      if (!isExact(literal)) return "the JSON must not contain a number that is not exact";
      at += literal.length - 1;
    }
  }
  return undefined;
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
  return Number.isFinite(value) && significant <= exactDigits && (value !== 0 || significant === 0);
}

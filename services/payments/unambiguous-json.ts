// JSON that every reader reads alike. Two parsers may disagree about a key written twice, or about a number that no
// double holds exactly; what is signed by its meaning (RFC 8785) must not be open to that. Deeper than 32 levels,
// another encoding and broken JSON are refused by the parser that all bodies share.
import { parseJsonBody } from "../shared/params/json-body.ts";
import { valueError } from "../shared/params/failure.ts";
import type { Failure } from "../shared/params/types.ts";

/** One token of valid JSON, at each place: a string, a number, or a sign of structure. */
const token = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\]:,]/g;
/** Any decimal of so many digits is a double of its own. */
const exactDigits = 15;

/** @returns the value, its keys all own properties, `__proto__` too; or what is wrong with the body as a whole */
export function readUnambiguous(bytes: Buffer): { value: unknown } | { failure: Failure } {
  const parsed = parseJsonBody(bytes);
  if ("failure" in parsed) return parsed;
  // A byte order mark is no JSON (RFC 8259), though the shared parser lets it pass.
  const text = bytes.toString();
  const sentence = text.startsWith("\ufeff")
    ? "the JSON must not begin with a byte order mark"
    : ambiguityOf(text);
  if (sentence !== undefined) return { failure: { ...valueError(sentence), loc: ["body"] } };
  // Parsed again, because the shared parser takes keys away (`__proto__`) that the signature covers.
  return { value: JSON.parse(text) };
}

/** @param text valid JSON */
function ambiguityOf(text: string): string | undefined {
  // A set of keys for each object that is open, undefined for each list.
  const open: (Set<string> | undefined)[] = [];
  let last = "";
  for (const [found] of text.matchAll(token)) {
    if (found === "{") open.push(new Set());
    else if (found === "[") open.push(undefined);
    else if (found === "}" || found === "]") open.pop();
    else if (found === ":") {
      const keys = open.at(-1);
      const key: string = JSON.parse(last);
      if (keys?.has(key)) return "the JSON must not name a key twice";
      keys?.add(key);
    } else if (found.startsWith('"')) {
      if (found.includes("\\u") && !String(JSON.parse(found)).isWellFormed())
        return "the JSON must not contain half a character";
    } else if (found !== "," && !isExact(found))
      return "the JSON must not contain a number that is not exact";
    last = found;
  }
  return undefined;
}

function isExact(literal: string): boolean {
  const value = Number(literal);
  if (Number.isSafeInteger(value) && /^-?\d+$/.test(literal)) return true;
  const digits = (literal.split(/[eE]/)[0] ?? "").replace(/[-.]/g, "").replace(/^0+|0+$/g, "");
  return Number.isFinite(value) && digits.length <= exactDigits && (value !== 0 || digits === "");
}

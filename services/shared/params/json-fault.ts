/**
 * Where a text stops being JSON, counted in characters as Python's decoder does. V8 names the position in some
 * messages only, and this runs only after V8 has refused the text.
 */

/** Sticky: each is tried exactly where the walk stands. */
const space = /[ \t\n\r]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// oxlint-disable-next-line no-control-regex -- exactly what JSON forbids inside strings
const stringPart = /[^"\\\u0000-\u001f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** The fault's offset in UTF-16 units; thrown to leave the walk. */
class Fault extends Error {
  readonly at: number;
  constructor(at: number) {
    super();
    this.at = at;
  }
}

/** The caller has bounded the nesting (32), and with it this recursion. */
export function faultOffset(text: string): number {
  try {
    const start = text.startsWith("\ufeff") ? 1 : 0;
    const end = skip(space, text, value(text, skip(space, text, start)));
    return charactersBefore(text, end);
  } catch (fault) {
    if (fault instanceof Fault) return charactersBefore(text, fault.at);
    throw fault;
  }
}

/** Each of these takes the offset where something should begin and answers the offset after it. */
function value(text: string, at: number): number {
  const first = text[at];
  if (first === "{") return members(text, at, "}", member);
  if (first === "[") return members(text, at, "]", value);
  if (first === '"') return string(text, at);
  const end = skip(scalar, text, at);
  if (end === at) throw new Fault(at);
  return end;
}

function members(text: string, open: number, close: string, one: typeof value): number {
  let at = skip(space, text, open + 1);
  if (text[at] === close) return at + 1;
  // Every round moves forward by a member at least, so the text's length bounds the loop.
  for (;;) {
    at = skip(space, text, one(text, at));
    if (text[at] === close) return at + 1;
    if (text[at] !== ",") throw new Fault(at);
    at = skip(space, text, at + 1);
  }
}

function member(text: string, at: number): number {
  if (text[at] !== '"') throw new Fault(at);
  const colon = skip(space, text, string(text, at));
  if (text[colon] !== ":") throw new Fault(colon);
  return value(text, skip(space, text, colon + 1));
}

function string(text: string, open: number): number {
  let at = skip(stringPart, text, open + 1);
  while (text[at] === "\\") {
    const end = skip(escape, text, at);
    if (end === at) throw new Fault(at);
    at = skip(stringPart, text, end);
  }
  if (at >= text.length) throw new Fault(open);
  if (text[at] !== '"') throw new Fault(at);
  return at + 1;
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** Characters (code points) before the offset `end`, which counts UTF-16 units. */
export function charactersBefore(text: string, end: number): number {
  let count = 0;
  for (let i = 0; i < end; i++) if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) count++;
  return count;
}

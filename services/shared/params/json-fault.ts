/**
 * Finds where a text stops being JSON, counted in characters as Python's decoder does. V8 names the position only in
 * some messages. This runs only after V8 has rejected the text.
 */

/** Sticky patterns: each is tried exactly at the current offset. */
const space = /[ \t\n\r]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// oxlint-disable-next-line no-control-regex -- exactly what JSON forbids inside strings
const stringPart = /[^"\\\u0000-\u001f]*/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Carries the offset of the fault in UTF-16 units; thrown to end the parse. */
class Fault extends Error {
  readonly at: number;
  constructor(at: number) {
    super();
    this.at = at;
  }
}

/** The caller bounds the nesting (32), and thereby this recursion. @returns the offset in code points */
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

/** Each of these functions takes the offset at which something begins, and returns the offset after it. */
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
  // Every round consumes at least one member, so the text's length bounds the loop.
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

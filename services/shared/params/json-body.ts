/**
 * Parses JSON bodies: strict UTF-8, bounded depth and number of values, no prototype keys. Of a repeated key the last value
 * counts.
 */
import { isUtf8 } from "node:buffer";
import secureJson from "secure-json-parse";
import { bodyMissing, failure, valueError } from "./failure.ts";
import { charactersBefore, faultOffset } from "./json-fault.ts";
import type { Failure } from "./types.ts";

const depthMax = 32;
/** 1 MB of empty lists would take 20 MB of memory. The largest parameter, settings of 64 kB, has fewer values. */
const valuesMax = 50_000;
const comma = 0x2c;
const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** @param bytes the whole body; an empty body is "Field required" */
export function parseJsonBody(bytes: Buffer): { value: unknown } | { failure: Failure } {
  if (bytes.length === 0) return { failure: bodyMissing() };
  const text = bytes.toString();
  if (!isUtf8(bytes)) return broken(charactersBefore(text, text.indexOf("\ufffd")));
  const excess = excessOf(bytes);
  if (excess !== undefined) return { failure: { ...valueError(excess), loc: ["body"] } };
  try {
    return { value: secureJson.parse(text, { protoAction: "remove", constructorAction: "remove" }) };
  } catch {
    return broken(faultOffset(text));
  }
}

function broken(offset: number): { failure: Failure } {
  return { failure: { ...failure("json_invalid", "JSON decode error"), loc: ["body", String(offset)] } };
}

/** Counts brackets and commas outside of strings before parsing, and stops at the first excess. */
function excessOf(bytes: Buffer): string | undefined {
  let depth = 0;
  let values = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === backslash) i++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === openBrace || byte === openBracket) {
      if (++depth > depthMax) return `the JSON must not be nested deeper than ${depthMax} levels`;
      values++;
    } else if (byte === closeBrace || byte === closeBracket) depth--;
    else if (byte === comma) values++;
    if (values > valuesMax) return `the JSON must not hold more than ${valuesMax} values`;
  }
  return undefined;
}

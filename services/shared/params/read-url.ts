/** Reads absolute URLs; the text is kept as sent, since normalising would change what a client finds again. */
import { type Read, refuse, textFault } from "./read-text.ts";
import { valueError } from "./failure.ts";
import { alternatives } from "./read-scalar.ts";
import type { UrlShape } from "./types.ts";

export function readUrl({ schemes, max }: UrlShape): Read {
  const wrongScheme = `URL scheme should be ${alternatives(schemes)}`;
  return (value, failures) => {
    if (typeof value !== "string") return refuse(failures, "string_type", "Input should be a valid string");
    const text = value.trim();
    if (text.length > max)
      return refuse(failures, "string_too_long", `String should have at most ${max} characters`);
    const fault = textFault(text);
    if (fault !== undefined) return void failures.push(valueError(`the text must not contain ${fault}`));
    const parsed = URL.parse(text);
    if (parsed === null)
      return refuse(failures, "url_parsing", `Input should be a valid URL, ${reason(text)}`);
    if (!schemes.includes(parsed.protocol.slice(0, -1))) return refuse(failures, "url_scheme", wrongScheme);
    return text;
  };
}

/** What the URL parser would not read, in plain code: a pattern that says all of this takes cubic time. */
function reason(text: string): string {
  if (text === "") return "input is empty";
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return "relative URL without a base";
  if (/^[a-z]+:\/*(?:[?#]|$)/i.test(text)) return "empty host";
  return isPortNumber(portOf(text)) ? "invalid domain character" : "invalid port number";
}

/** What stands behind the last colon of the host, which ends with its bracket if it has one; "" for no port. */
function portOf(text: string): string {
  const [authority = ""] = text
    .slice(text.indexOf(":") + 1)
    .replace(/^\/+/, "")
    .split(/[/?#]/, 1);
  const host = authority.slice(Math.max(authority.lastIndexOf("@"), authority.lastIndexOf("]")) + 1);
  const colon = host.lastIndexOf(":");
  return colon === -1 ? "" : host.slice(colon + 1);
}

/** Port numbers of five digits are mostly too large, and the parser does not say what it disliked. */
function isPortNumber(port: string): boolean {
  return /^\d{0,4}$/.test(port);
}

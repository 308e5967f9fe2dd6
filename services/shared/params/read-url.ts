/** Parses absolute URLs. The text is kept as sent, because a client should find again what it has sent. */
import { type Read, refuse, textFault } from "./read-text.ts";
import { valueError } from "./failure.ts";
import { alternatives } from "./read-scalar.ts";
import type { UrlShape } from "./types.ts";

/** @returns a reader of URLs with one of the schemes */
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

/** Finds the reason for a URL that the parser rejected, in plain code: a single pattern for it would take cubic time. */
function reason(text: string): string {
  if (text === "") return "input is empty";
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return "relative URL without a base";
  if (/^[a-z]+:\/*(?:[?#]|$)/i.test(text)) return "empty host";
  return isPortNumber(portOf(text)) ? "invalid domain character" : "invalid port number";
}

/** @returns the text after the last colon of the host, or after the bracket of an IPv6 address; "" without a port */
function portOf(text: string): string {
  const [authority = ""] = text
    .slice(text.indexOf(":") + 1)
    .replace(/^\/+/, "")
    .split(/[/?#]/, 1);
  const host = authority.slice(Math.max(authority.lastIndexOf("@"), authority.lastIndexOf("]")) + 1);
  const colon = host.lastIndexOf(":");
  return colon === -1 ? "" : host.slice(colon + 1);
}

/** Most port numbers of five digits are too large, and the parser does not report which part it rejected. */
function isPortNumber(port: string): boolean {
  return /^\d{0,4}$/.test(port);
}

// Checks a URL by its text alone, before anything is resolved. It must be complete and must hold no user name, fragment or
// control character.
import { isIP } from "node:net";

export interface Target {
  tls: boolean;
  /** A name in ASCII without a trailing dot, or an IP address without brackets. */
  host: string;
  port: number;
  /** With the query. */
  path: string;
  /** The value of the Host header. */
  authority: string;
}

const urlLengthMax = 2048;
const unsafe = /[\s\p{C}\\]/u;

/** @returns the target, or the fault as a sentence without a capital and full stop */
export function readTarget(text: string): Target | { fault: string } {
  if (text.length > urlLengthMax) return { fault: `the address has more than ${urlLengthMax} characters` };
  if (unsafe.test(text)) return { fault: "the address holds spaces, control characters or backslashes" };
  const url = URL.parse(text);
  if (url === null) return { fault: "the address is not a URL" };
  if (url.protocol !== "https:" && url.protocol !== "http:") return { fault: "the address is not of https" };
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/*[^/?#]*@/i.test(text))
    return { fault: "the address holds a user name or a password" };
  if (text.includes("#")) return { fault: "the address holds a fragment" };
  const tls = url.protocol === "https:";
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const port = url.port === "" ? (tls ? 443 : 80) : Number(url.port);
  if (host === "" || host.length > 253 || port === 0) return { fault: "the address names no host" };
  return { tls, host, port, path: `${url.pathname}${url.search}`, authority: url.host };
}

/** Ports below 1024 belong to other protocols. */
export function isWebPort(port: number): boolean {
  return port === 443 || port >= 1024;
}

/** Whether the host is an IP address and not a name. */
export function isAddress({ host }: Pick<Target, "host">): boolean {
  return isIP(host) !== 0;
}

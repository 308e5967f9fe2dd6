// What an address says by itself, before anything is resolved: a URL of ours is plain, complete and not a trick.
import { isIP } from "node:net";

export interface Target {
  tls: boolean;
  /** A name in ASCII without a dot at its end, or an IP address without brackets. */
  host: string;
  port: number;
  /** With the query. */
  path: string;
  /** What the Host header says. */
  authority: string;
}

const urlLengthMax = 2048;
const unsafe = /[\s\p{C}\\]/u;

/** @returns the target, or why there is none as a sentence without a capital and full stop */
export function readTarget(text: string): Target | { fault: string } {
  if (text.length > urlLengthMax) return { fault: `the address has more than ${urlLengthMax} characters` };
  if (unsafe.test(text)) return { fault: "the address holds spaces, control characters or backslashes" };
  const url = URL.parse(text);
  if (url === null) return { fault: "the address is no URL" };
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

/** Below 1024 lie other protocols' ports: nothing of ours has business there. */
export function isWebPort(port: number): boolean {
  return port === 443 || port >= 1024;
}

export function isAddress({ host }: Pick<Target, "host">): boolean {
  return isIP(host) !== 0;
}

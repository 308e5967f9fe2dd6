// The address of the client: that of the socket, or the one that a trusted proxy reports. Anyone can write X-Forwarded-For, so
// it is read from the right, and only the parts that trusted proxies wrote.
import { isIP } from "node:net";
import type { IncomingMessage } from "node:http";
import { blockListOf, isIn } from "../shared/address-list.ts";

const hopsMax = 20;

/** @param trusted addresses and subnets, "10.0.0.0/8" */
export function proxiesIn(trusted: readonly string[]): (address: string) => boolean {
  const proxies = blockListOf(trusted);
  return (address) => trusted.length > 0 && isIn(proxies, plain(address) ?? "");
}

/**
 * @param isTrusted whether an address is one of our proxies
 * @param onStranger called when another sender reports a client address, which is then ignored
 */
export function clientAddressOf(
  isTrusted: (address: string) => boolean,
  onStranger: () => void,
): (request: IncomingMessage) => string | null {
  return (request) => {
    let address = plain(request.socket.remoteAddress);
    if (address === null || !isTrusted(address)) {
      if (saysWho(request)) onStranger();
      return address;
    }
    const forwarded = String(request.headers["x-forwarded-for"] ?? "")
      .split(",")
      .slice(-hopsMax);
    for (const hop of forwarded.reverse()) {
      const named = plain(hop.trim());
      if (named === null || isIP(named) === 0) return address;
      address = named;
      if (!isTrusted(address)) return address;
    }
    return address;
  };
}

function saysWho({ headers }: IncomingMessage): boolean {
  return headers["x-forwarded-for"] !== undefined || headers.forwarded !== undefined;
}

function plain(address: string | undefined): string | null {
  if (address === undefined || address === "") return null;
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

// Who is at the other end: the socket's address, or what a trusted proxy says. Anyone can write X-Forwarded-For, so it
// is read from the right and only as far as proxies we trust wrote it.
import { BlockList, isIP, isIPv6 } from "node:net";
import type { IncomingMessage } from "node:http";

const hopsMax = 20;

/** @param trusted addresses and subnets, "10.0.0.0/8" */
export function clientAddressOf(trusted: readonly string[]): (request: IncomingMessage) => string | null {
  const proxies = new BlockList();
  for (const entry of trusted) {
    const [address = "", bits] = entry.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  const isTrusted = (address: string) => proxies.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  return (request) => {
    let address = plain(request.socket.remoteAddress);
    if (address === null || trusted.length === 0 || !isTrusted(address)) return address;
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

function plain(address: string | undefined): string | null {
  if (address === undefined || address === "") return null;
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

// Which addresses may be reached from inside: the public internet's, and what an operator allows beside it. The tables
// follow IANA's registries of special-purpose addresses (RFC 6890 and its successors); whatever is not plainly global is
// refused, tunnels and translations that carry an IPv4 address in an IPv6 one among them.
import { BlockList, isIPv6 } from "node:net";

const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Microsoft Azure's wire server: within public space, but only ever the host beneath a virtual machine.
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/** All that is handed out to hosts; ::/8, mapped IPv4, NAT64, unique local, link-local and multicast lie outside. */
const unicast6 = ["2000::/3"];

const special6 = [
  // Protocol assignments: Teredo, benchmarks, ORCHID, …
  "2001::/23",
  "2001:db8::/32",
  // 6to4.
  "2002::/16",
  "2620:4f:8000::/48",
  "3fff::/20",
];

/** @param subnets addresses or subnets, "10.0.0.0/8" */
export function blockListOf(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of subnets) {
    const [address = "", bits] = entry.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

export function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

const specials4 = blockListOf(special4);
const unicasts6 = blockListOf(unicast6);
const specials6 = blockListOf(special6);

/** @param address an IP address without brackets or zone */
export function isGlobal(address: string): boolean {
  if (!isIPv6(address)) return !isIn(specials4, address);
  return isIn(unicasts6, address) && !isIn(specials6, address);
}

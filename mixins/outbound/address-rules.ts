// Which addresses the service may connect to: public ones, and those that an operator allows. The tables follow IANA's registries
// of special-purpose addresses (RFC 6890 and its successors). An address that is not clearly global is refused, also tunnels and
// translations that carry an IPv4 address within an IPv6 address.
import { isIPv6 } from "node:net";
import { blockListOf, isIn } from "../../services/shared/address-list.ts";

const special4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Microsoft Azure's wire server: within the public range, but always the host of the virtual machine.
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

/** The range that is assigned to hosts. ::/8, mapped IPv4, NAT64, unique local, link-local and multicast lie outside of it. */
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

const specials4 = blockListOf(special4);
const unicasts6 = blockListOf(unicast6);
const specials6 = blockListOf(special6);

/** @param address an IP address without brackets or zone */
export function isGlobal(address: string): boolean {
  if (!isIPv6(address)) return !isIn(specials4, address);
  return isIn(unicasts6, address) && !isIn(specials6, address);
}

// Lists of addresses and subnets, and whether an address is in one. Node.js parses and compares them.
import { BlockList, isIPv6 } from "node:net";

/** @param subnets addresses or subnets in CIDR notation, "10.0.0.0/8" */
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

/** @param address an IP address without brackets or zone */
export function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

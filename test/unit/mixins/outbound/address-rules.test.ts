// Which addresses count as the public internet's.
import { describe, expect, it } from "@jest/globals";
import { isGlobal } from "../../../../mixins/outbound/address-rules.ts";
import { blockListOf, isIn } from "../../../../services/shared/address-list.ts";

describe("global", () => {
  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.0.1",
    "172.32.0.1",
  ])("%s", (address) => expect(isGlobal(address)).toBe(true));
  it.each(["2606:4700::1111", "2a00:1450:4001::1", "2003::1", "2400::1"])("%s", (address) =>
    expect(isGlobal(address)).toBe(true),
  );
});

describe("not global", () => {
  it.each([
    "0.0.0.0",
    "0.1.2.3",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "169.254.169.254",
    "168.63.129.16",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.255",
    "192.88.99.1",
    "192.168.0.0",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.251",
    "239.255.255.255",
    "240.0.0.0",
    "255.255.255.255",
  ])("%s", (address) => expect(isGlobal(address)).toBe(false));
  it.each([
    "::",
    "::1",
    "::7f00:1",
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:2::1",
    "2001:20::1",
    "2001:db8::1",
    "2002:808:808::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fdff::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
  ])("%s", (address) => expect(isGlobal(address)).toBe(false));
});

describe("what an operator allows", () => {
  it("is an address or a subnet, and nothing beside it", () => {
    const list = blockListOf(["127.0.0.0/8", "10.1.2.3", "fd00::/8"]);
    expect(["127.9.9.9", "10.1.2.3", "fd12::1"].every((address) => isIn(list, address))).toBe(true);
    expect(["128.0.0.1", "10.1.2.4", "fe80::1", "::1"].some((address) => isIn(list, address))).toBe(false);
  });
});

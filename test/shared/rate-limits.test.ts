// Whom a rate counts as one: an IPv4 address, or a whole /64 of IPv6, however it is written.
import { describe, expect, it } from "@jest/globals";
import { addressKey } from "../../services/shared/rate-limits.ts";

describe("addressKey", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::FFFF:203.0.113.7", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::1", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002:0:0:0:1", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:db8::2:3:4:5:6", "2001:db8:0:2::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["fe80::2%eth1", "fe80:0:0:0::/64"],
  ])("%s counts as %s", (address, key) => {
    expect(addressKey(address)).toBe(key);
  });

  it("neighbouring IPv4 addresses and neighbouring networks are told apart", () => {
    const keys = ["203.0.113.7", "203.0.113.8", "2001:db8:1:2::1", "2001:db8:1:3::1"].map(addressKey);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("a closed connection, which has no address any more, still counts", () => {
    expect(addressKey(null)).toBe("unknown");
  });
});

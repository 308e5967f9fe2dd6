// Whom a rate counts as one (an IPv4 address, or a whole /64 of IPv6, however it is written), and that a rate holds while
// the database is away.
import { describe, expect, it } from "@jest/globals";
import type { Database } from "../../../../services/shared/database/database.ts";
import { addressKey, RateLimit } from "../../../../services/shared/rate-limits.ts";

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

describe("while PostgreSQL is away", () => {
  const away = () => Promise.reject(new Error("connect ECONNREFUSED"));
  // Of the database it uses the pool alone, and of the pool this one method.
  const database = { pool: { query: away, connect: away } } as unknown as Database;

  it("a process counts by itself: the rate is refused all the same, to each key for itself", async () => {
    const limit = new RateLimit(database, "test_away", 3, 60);
    for (let taken = 0; taken < 3; taken++) await limit.take("one");
    await expect(limit.take("one")).rejects.toMatchObject({ code: 429, type: "too_many_requests" });
    expect(await limit.spend("one")).toBe(false);
    expect(await limit.spend("other")).toBe(true);
  });
});

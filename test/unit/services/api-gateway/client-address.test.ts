// Whose address counts: X-Forwarded-For is read from the right and only as far as trusted proxies wrote it.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { clientAddressOf, proxiesIn } from "../../../../services/api-gateway/client-address.ts";

function addressOf(
  trusted: readonly string[],
  peer: string | undefined,
  forwarded?: string | string[],
): string | null {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: peer });
  const request = new IncomingMessage(socket);
  // Node joins repeated X-Forwarded-For headers with ", " before anybody sees them.
  if (forwarded !== undefined) request.headers["x-forwarded-for"] = [forwarded].flat().join(", ");
  return clientAddressOf(proxiesIn(trusted), () => {})(request);
}

const proxy = "10.0.0.1";
const trusted = ["10.0.0.0/8", "fd00::/8", "192.0.2.10"];

describe("without trusted proxies", () => {
  it.each([undefined, "", "1.2.3.4", "1.2.3.4, 5.6.7.8", "127.0.0.1"])("%j is not believed", (forwarded) => {
    expect(addressOf([], "203.0.113.7", forwarded)).toBe("203.0.113.7");
    expect(addressOf([], "::ffff:203.0.113.7", forwarded)).toBe("203.0.113.7");
  });

  it("a socket that is closed has no address", () => {
    expect(addressOf([], undefined, "1.2.3.4")).toBeNull();
  });
});

describe("from a stranger", () => {
  it.each(["1.2.3.4", "10.0.0.5", "1.2.3.4, 10.0.0.5"])("%j is not believed", (forwarded) => {
    expect(addressOf(trusted, "203.0.113.7", forwarded)).toBe("203.0.113.7");
  });

  it.each(["11.0.0.1", "9.255.255.255", "192.0.2.11", "fe00::1"])("%s is not among the trusted", (peer) => {
    expect(addressOf(trusted, peer, "1.2.3.4")).toBe(peer);
  });
});

describe("from a trusted proxy", () => {
  it.each([
    ["1.2.3.4", "1.2.3.4"],
    [" 1.2.3.4 ", "1.2.3.4"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["2001:db8::5", "2001:db8::5"],
    // What the client itself wrote stands to the left and is not reached.
    ["6.6.6.6, 1.2.3.4", "1.2.3.4"],
    ["127.0.0.1, 1.2.3.4", "1.2.3.4"],
    // A chain of proxies of ours.
    ["6.6.6.6, 1.2.3.4, 10.9.9.9", "1.2.3.4"],
    ["1.2.3.4, 192.0.2.10, fd00::2", "1.2.3.4"],
    // Only proxies: the outermost one.
    ["10.1.1.1, 10.2.2.2", "10.1.1.1"],
    // What is no address ends the reading.
    ["1.2.3.4, unknown", proxy],
    ["1.2.3.4, 10.9.9.9, nonsense", proxy],
    ["1.2.3.4, nonsense, 10.9.9.9", "10.9.9.9"],
    ["1.2.3.4:5678", proxy],
    ["'; drop table", proxy],
    ["", proxy],
    [",", proxy],
    ["1.2.3.4,", proxy],
  ])("%j means %s", (forwarded, expected) => {
    expect(addressOf(trusted, proxy, forwarded)).toBe(expected);
  });

  it("nothing forwarded means the proxy itself", () => {
    expect(addressOf(trusted, proxy)).toBe(proxy);
  });

  it("repeated headers are one list", () => {
    expect(addressOf(trusted, proxy, ["6.6.6.6", "1.2.3.4"])).toBe("1.2.3.4");
  });

  it("a proxy that arrives as a mapped address is known", () => {
    expect(addressOf(trusted, "::ffff:10.0.0.1", "1.2.3.4")).toBe("1.2.3.4");
  });

  it("only the last 20 hops are looked at", () => {
    const hops = ["1.2.3.4", ...Array.from({ length: 30 }, () => "10.3.3.3")].join(",");
    expect(addressOf(trusted, proxy, hops)).toBe("10.3.3.3");
  });
});

// Crowds of connections, and what is believed of proxies: one address shuts nobody out, a trusted proxy's clients are not
// taken for one, and a proxy that is not trusted is named in the log once.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { head, open, statusesIn, type Wire } from "../support/raw-http.ts";
import { callApi, eventually, startService, type TestService } from "../support/service.ts";

const most = 50;
const proxy = "127.0.0.9";

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await startService({
    CONNECTIONS_PER_ADDRESS_MAX: String(most),
    TRUST_PROXY: `${proxy},127.0.1.0/24`,
  });
  token = await service.signIn("nurse");
});
afterAll(() => service.stop());

const wires: Wire[] = [];
afterEach(async () => {
  const all = wires.splice(0);
  for (const { socket } of all) socket.destroy();
  await Promise.all(all.map(({ ended }) => ended));
});
const wireFrom = (from: string): Wire => {
  const wire = open(service.url, from);
  wires.push(wire);
  return wire;
};
/** A request that is under way, as its body does not end. */
const occupied = (from: string): Wire => {
  const wire = wireFrom(from);
  wire.socket.write(head("POST", "/api/auth/login", ["Content-Length: 10"]));
  return wire;
};
const idle = async (from: string): Promise<Wire> => {
  const wire = wireFrom(from);
  wire.socket.write(head("GET", "/api/nothing"));
  await wire.until(/"not_found"\}$/);
  return wire;
};
const serves = async (from: string): Promise<number[]> => {
  const wire = wireFrom(from);
  wire.socket.write(head("GET", "/api/users/me", [`Authorization: Bearer ${token}`, "Connection: close"]));
  return statusesIn(await wire.ended);
};
const closedOf = (all: readonly Wire[]) => all.filter(({ socket }) => socket.closed).length;

describe("one address", () => {
  it("has fifty connections at a time, and shuts nobody else out", async () => {
    const held = Array.from({ length: most + 30 }, () => occupied("127.0.0.2"));
    await eventually(async () => closedOf(held) === 30);
    expect(await serves("127.0.0.3")).toEqual([200]);
    expect(await serves("127.0.0.2")).toEqual([]);
    expect(closedOf(held)).toBe(30);
  });

  it("gives up idle ones for new ones", async () => {
    const held = await Promise.all(Array.from({ length: most }, () => idle("127.0.0.4")));
    for (let came = 0; came < 5; came++) expect(await serves("127.0.0.4")).toEqual([200]);
    expect(closedOf(held)).toBeGreaterThan(0);
  });

  it("that says nothing at all has no more of them", async () => {
    const held = Array.from({ length: most * 4 }, () => wireFrom("127.0.0.5"));
    await eventually(async () => closedOf(held) >= most * 3);
    expect(await serves("127.0.0.6")).toEqual([200]);
  });
});

describe("a proxy that TRUST_PROXY names", () => {
  it.each([proxy, "127.0.1.7"])("%s brings as many connections as it has clients", async (from) => {
    const held = Array.from({ length: most * 3 }, () => occupied(from));
    expect(await serves(from)).toEqual([200]);
    expect(closedOf(held)).toBe(0);
  });
});

describe("a proxy that is not trusted", () => {
  const lines = () =>
    service.process
      .output()
      .split("\n")
      .filter((line) => line.includes("TRUST_PROXY"));

  it("is told once, whatever it says and however often, and no client is named", async () => {
    const wire = wireFrom(proxy);
    wire.socket.write(head("GET", "/api/nothing", ["X-Forwarded-For: 203.0.113.7", "Connection: close"]));
    await wire.ended;
    expect(lines()).toEqual([]);
    const sent: Record<string, string>[] = [
      { forwarded: "for=203.0.113.77" },
      { "x-forwarded-for": "203.0.113.78" },
      { "x-forwarded-for": "203.0.113.79", forwarded: "for=_hidden" },
    ];
    for (const headers of sent) await callApi(service.url, "GET", "/api/nothing", { headers });
    await service.process.printed(/"msg":"[^"]*TRUST_PROXY/);
    const [line = ""] = lines();
    expect(lines()).toHaveLength(1);
    expect(JSON.parse(line)).toMatchObject({
      level: "warn",
      msg: expect.stringContaining("name the proxy's addresses"),
    });
    expect(line).not.toMatch(/203\.0\.113|_hidden|127\.0\.0/);
  });
});

// Nobody gets inside through the outbound function: hostile spellings, names that point inside, names that move there
// between the check and the connection, and redirects; canaries on loopback count who reaches them.
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nameServerAsker } from "../../../../mixins/outbound/names.ts";
import { Outbound } from "../../../../mixins/outbound/outbound.ts";
import { type Canary, startCanary } from "../../../support/canary.ts";
import { hostileUrls, insideNames } from "../../../support/hostile-urls.ts";
import { type NameServer, startNameServer } from "../../../support/name-server.ts";

let canary: Canary;
let names: NameServer;
let outbound: Outbound;
const publicAddress = "93.184.215.14";

beforeAll(async () => {
  [canary, names] = await Promise.all([startCanary(), startNameServer()]);
  for (const [name, addresses] of Object.entries(insideNames)) names.zone.set(name, addresses);
  names.zone.set("public.example", [publicAddress]);
  outbound = open([]);
});
afterAll(async () => {
  outbound.close();
  await Promise.all([canary.stop(), names.stop()]);
});

/** Asks the test's name server every time. */
function open(allowSubnets: readonly string[]): Outbound {
  return new Outbound({ allowSubnets, resolve: nameServerAsker([names.address]), namesTtlMs: 0 });
}

const post = (url: string, through = outbound) =>
  through.send({ url, method: "POST", body: "{}", deadlineMs: 3_000 });

it("sixty hostile addresses and more are refused by the check and by sending, and reach nothing", async () => {
  const urls = hostileUrls(canary.port);
  expect(urls.length).toBeGreaterThan(60);
  const passed: string[] = [];
  for (const url of urls) {
    const [fault, result] = await Promise.all([outbound.check(url), post(url)]);
    if (fault === undefined || result.ok || !["invalid_url", "blocked"].includes(result.failure))
      passed.push(url);
  }
  expect(passed).toEqual([]);
  expect(canary.connections()).toBe(0);
});

it("the same canary is reached where an operator allows it, so it would have been seen", async () => {
  const allowing = open(["127.0.0.0/8"]);
  const before = canary.connections();
  expect(await post(`http://127.0.0.1:${canary.port}/`, allowing)).toMatchObject({
    ok: true,
    body: "canary",
  });
  expect(await post(`http://loopback.attacker.example:${canary.port}/`, allowing)).toMatchObject({
    ok: true,
  });
  expect(await post(`http://localhost:${canary.port}/`, allowing)).toMatchObject({ ok: true });
  expect(canary.connections()).toBe(before + 3);
  // What is allowed is no bridge to what is not.
  expect(await allowing.check(`http://10.0.0.1:${canary.port}/`)).toMatchObject({ failure: "blocked" });
  expect(await allowing.check("http://mixed6.attacker.example/")).toMatchObject({ failure: "blocked" });
  expect(await allowing.check("http://public.example/")).toMatchObject({ failure: "blocked" });
  allowing.close();
});

describe("a name that moves", () => {
  it.each([
    ["inside after the check", [publicAddress], ["127.0.0.1"]],
    ["inside beside an address outside", [publicAddress], [publicAddress, "127.0.0.1"]],
    ["to IPv6 inside", [publicAddress], ["::1"]],
    ["to a mapped address", [publicAddress], ["::ffff:127.0.0.1"]],
    ["to metadata", [publicAddress], ["169.254.169.254"]],
    ["to no address at all", [publicAddress], []],
  ])("%s is refused when it is used", async (_case, first, then) => {
    names.zone.set("moving.attacker.example", first);
    const url = `https://moving.attacker.example:${canary.port}/`;
    expect(await outbound.check(url)).toBeUndefined();
    names.zone.set("moving.attacker.example", then);
    const before = canary.connections();
    const result = await post(url);
    expect(result).toMatchObject({ ok: false, failure: then.length === 0 ? "unresolved" : "blocked" });
    expect(canary.connections()).toBe(before);
  });

  it("at every question never gets a connection to an address that was not looked at", async () => {
    let asked = 0;
    names.zone.set("flicker.attacker.example", () => (asked++ % 4 < 2 ? ["192.0.2.1"] : ["127.0.0.1"]));
    const before = canary.connections();
    for (let round = 0; round < 6; round++) {
      const result = await post(`https://flicker.attacker.example:${canary.port}/`);
      expect(result).toMatchObject({ ok: false, failure: "blocked" });
    }
    expect(canary.connections()).toBe(before);
  });

  it("is held for seconds where it is, and judged anew at each use of what is held", async () => {
    const holding = new Outbound({
      allowSubnets: ["127.0.0.0/8"],
      resolve: nameServerAsker([names.address]),
      namesTtlMs: 60_000,
    });
    names.zone.set("held.example", ["127.0.0.1"]);
    const url = `http://held.example:${canary.port}/`;
    await post(url, holding);
    const asked = names.questions();
    names.zone.set("held.example", ["10.0.0.1"]);
    expect(await post(url, holding)).toMatchObject({ ok: true });
    expect(names.questions()).toBe(asked);
    holding.close();
  });
});

describe("a redirect", () => {
  let receiver: Server;
  let port: number;
  let hits: string[];
  beforeAll(async () => {
    receiver = createServer((request, response) => {
      hits.push(request.url ?? "");
      const [, status = "302", kind = ""] = (request.url ?? "").split("/");
      const targets: Record<string, string> = {
        canary: `http://127.0.0.1:${canary.port}/`,
        file: "file:///etc/passwd",
        loop: request.url ?? "",
        upgrade: `https://localhost:${canary.port}/`,
      };
      response.writeHead(Number(status), { location: targets[kind] ?? "" }).end();
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => receiver.once("listening", resolve));
    const address = receiver.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
  });
  afterAll(() => new Promise((resolve) => receiver.close(resolve)));

  it.each(
    [301, 302, 303, 307, 308].flatMap((status) =>
      ["canary", "file", "loop", "upgrade"].map((kind) => [status, kind] as const),
    ),
  )("%i to %s is an answer and is not followed", async (status, kind) => {
    const allowing = open(["127.0.0.0/8"]);
    hits = [];
    const before = canary.connections();
    const result = await post(`http://127.0.0.1:${port}/${status}/${kind}`, allowing);
    expect(result).toMatchObject({ ok: true, status });
    expect(hits).toHaveLength(1);
    expect(canary.connections()).toBe(before);
    allowing.close();
  });
});

// What a network does to a cluster under load: links that are cut, in both directions or in one, that are slow, or that
// lose packets. Each process is on a host of its own (a network namespace). `npm run test:cluster` does all and prints the
// table; `npm test` does the first three.
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { MarkdownRows } from "../support/markdown-rows.ts";
import { describeWithHosts } from "../support/network/describe-with-hosts.ts";
import { type Hosts, places, startHosts, type WireFault } from "../support/network/hosts.ts";
import { type Relay, startRelay } from "../support/network/relay.ts";
import { type NatsServer, startNats } from "../support/nats.ts";
import {
  addressOf,
  callApi,
  type CallOptions,
  eventually,
  type RunningProcess,
  startDemoDatabase,
  type TestDatabase,
  testSettings,
} from "../support/service.ts";
import { forgetCounts, loadScene, SteadyLoad } from "../support/steady-load.ts";

const gatewayHost = 10;
const firstHost = 11;
const secondHost = 12;
const serviceFolders =
  "audit,auth,backups,cache,crypto,health,mail,messenger,patients,payments,self-healing,tenants,users,webhooks";

/** Both directions between two places. */
const between = (one: number | "*", other: number | "*", fault: Partial<WireFault>): WireFault[] => [
  { from: one, to: other, ...fault },
  { from: other, to: one, ...fault },
];

interface Fault {
  name: string;
  links: readonly WireFault[];
  /** When it has been found out, and calls are made elsewhere. */
  foundMs: number;
  /** Of the requests after that. */
  failedShareMax: number;
}

const isAll = process.env["CRASH_FAULTS"] === "all";
/** Some requests are on their way when it happens; and CI may be busy with other tests. */
const few = isAll ? 0.02 : 0.3;
/** A statement without an answer is given up after 5.5 s. */
const databaseFoundMs = 7_000;

const fault = (
  name: string,
  links: readonly WireFault[],
  { foundMs = 0, failedShareMax = few } = {},
): Fault => ({ name, links, foundMs, failedShareMax });
const later = { foundMs: databaseFoundMs };
/** What both services processes lose together, and the gateway alone, no other process can make up for. */
const unserved = { failedShareMax: 1 };
const cut = { cut: true };
const slow = { delayMs: 200 };

const every: readonly Fault[] = [
  fault("one services process cut off from the bus", between(firstHost, places.bus, cut)),
  fault("one services process cut off from the database", between(firstHost, places.database, cut), later),
  fault("5 % of all packets lost", [{ from: "*", to: "*", lossPercent: 5 }]),
  fault("both services processes cut off from the database", between("*", places.database, cut), unserved),
  fault("the gateway cut off from the bus", between(gatewayHost, places.bus, cut), unserved),
  fault("the bus does not hear one services process", [{ from: firstHost, to: places.bus, ...cut }]),
  fault("one services process does not hear the bus", [{ from: places.bus, to: firstHost, ...cut }]),
  fault(
    "the database does not hear one services process",
    [{ from: firstHost, to: places.database, ...cut }],
    later,
  ),
  fault(
    "one services process does not hear the database",
    [{ from: places.database, to: firstHost, ...cut }],
    later,
  ),
  fault("200 ms more each way to the bus", between("*", places.bus, slow)),
  fault("200 ms more each way to the database", between("*", places.database, slow)),
];

const faults = isAll ? every : every.slice(0, 3);
const perSecond = Number(process.env["CRASH_RATE"] ?? 30);
const faultMs = 10_000;
const afterMs = 8_000;
/** A request is given up after 10 s (REQUEST_TIMEOUT_MS). */
const waitMsMax = isAll ? 11_500 : 20_000;
/** Until nothing fails any more. CI may be busy with other tests. */
const recoveryMsMax = isAll ? 5_000 : afterMs - 1_000;

let hosts: Hosts;
let database: TestDatabase;
let relay: Relay;
let nats: NatsServer;
const started: RunningProcess[] = [];
const rows = new MarkdownRows();
let url = "";
let scene: Awaited<ReturnType<typeof loadScene>>;

const call = (method: string, path: string, options?: CallOptions) => callApi(url, method, path, options);

describeWithHosts("a network's faults under load", () => {
  beforeAll(async () => {
    [hosts, database] = await Promise.all([
      startHosts([gatewayHost, firstHost, secondHost]),
      startDemoDatabase(),
    ]);
    relay = await startRelay(hosts.addressOf(places.database), database.postgres);
    nats = await startNats([], hosts.addressOf(places.bus));
    const {
      DATABASE_URL: _socket,
      BOOT_SECRET = "",
      JWT_SECRET = "",
      DEMO_MODE = "",
      ...bare
    }: Record<string, string> = {
      ...testSettings(database),
      NATS_URL: nats.url,
    };
    const { user, password } = database.postgres;
    const DATABASE_URL = `postgresql://${user}:${password}@${hosts.addressOf(places.database)}:${relay.port}/records`;
    const settings = { ...bare, DATABASE_URL, BOOT_SECRET, JWT_SECRET, DEMO_MODE, SERVICES: serviceFolders };
    for (const host of [firstHost, secondHost]) started.push(hosts.run(host, settings));
    const gateway = hosts.run(gatewayHost, {
      ...bare,
      SERVICES: "api-gateway",
      DEMO_MODE: "false",
      HOST: hosts.addressOf(gatewayHost),
    });
    started.push(gateway);
    await Promise.all(started.slice(0, 2).map((running) => running.printed(/Records service is ready/)));
    const { port } = new URL(await addressOf(gateway));
    url = `http://${hosts.addressOf(gatewayHost)}:${port}`;
    await eventually(async () => (await call("GET", "/api/auth/tenants")).status === 200);
    scene = await loadScene(call, database);
  });
  afterAll(async () => {
    await hosts?.set([]);
    await Promise.all(started.map((running) => running.stop()));
    await nats?.stop();
    await relay?.stop();
    await database?.stop();
    await hosts?.stop();
  });

  it.each(faults)("$name: bounded waits, no wrong answer, soon over", async (of) => {
    const { name, links, foundMs, failedShareMax } = of;
    await forgetCounts(database);
    const load = new SteadyLoad({ url, perSecond, ...scene });
    try {
      await load.warm();
      const faultAt = performance.now();
      await hosts.set(links);
      await setTimeout(faultMs);
      const healedAt = performance.now();
      await hosts.set([]);
      const after = await load.stretch(healedAt, healedAt + afterMs);
      const during = await load.stretch(faultAt, healedAt);
      rows.add({
        fault: name,
        sent: during.sent,
        failed: during.failed,
        "longest wait (ms)": Math.max(during.longestMs, after.longestMs),
        "last failure after the end (ms)": after.lastFailedMs,
      });
      const refused = /: 503 /;
      const wrong = [...during.failures, ...after.failures].filter((failure) => !refused.test(failure));
      const isBounded = during.longestMs < waitMsMax && after.longestMs < waitMsMax;
      const found = await load.stretch(faultAt + foundMs, healedAt);
      const isFew = found.failed <= Math.ceil(found.sent * failedShareMax);
      const isOver = after.lastFailedMs < recoveryMsMax;
      expect({ wrong, isBounded, isFew, isOver, during, after }).toEqual({
        wrong: [],
        isBounded: true,
        isFew: true,
        isOver: true,
        during,
        after,
      });
    } finally {
      await hosts.set([]);
      await load.stop();
    }
    expect(await load.judgeNotes()).toEqual({ missing: [], doubled: 0 });
  });
});

// Settings that must be the same on all processes: one that has another value says which, and is of no use to anybody for no
// longer than that. A gateway is ready once it has seen who answers behind it.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Cluster, serviceFolders, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { freePort } from "../support/nats.ts";
import { addressOf, callApi, eventually, type RunningProcess, runProcess } from "../support/service.ts";

const another = "another-value-of-another-deployment-entirely";
const accounts = "auth,tenants,users";

let cluster: Cluster;
let services: RunningProcess;
const started: RunningProcess[] = [];

function run(settings: Record<string, string>): RunningProcess {
  const running = runProcess({ ...cluster.settings, ...settings });
  started.push(running);
  return running;
}

/** A gateway, which holds what the bus needs and nothing else. */
function gateway(settings: Record<string, string>): RunningProcess {
  const { DATABASE_URL: _database, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = cluster.settings;
  const running = runProcess({ ...bare, SERVICES: "api-gateway", ...settings });
  started.push(running);
  return running;
}

async function refused(settings: Record<string, string>): Promise<string> {
  const running = run(settings);
  expect(await running.exited).toBe(1);
  return running.output().trimEnd().split("\n").at(-1) ?? "";
}

describeWithNats("settings that must be alike", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    services = await cluster.startServices({ NODE_ID: "services-1" });
  });
  afterAll(async () => {
    await Promise.all(started.map((running) => running.stop()));
    await cluster?.stop();
  });

  it("another JWT_SECRET is refused in one sentence", async () => {
    expect(await refused({ SERVICES: accounts, JWT_SECRET: another })).toBe(
      "JWT_SECRET of this process is not believed by the process services-1, or its own not here: put each into the other's JWT_PREVIOUS_SECRETS.",
    );
  });

  it("another BOOT_SECRET is refused where it wraps no key too", async () => {
    // With a login of the database of its own it is not asked to open anything at its start.
    const { DATABASE_URL: url = "", ...rest } = cluster.settings;
    const running = runProcess({
      ...rest,
      SERVICES: "audit",
      BOOT_SECRET: another,
      DATABASE_APP_URL: url,
      NODE_ENV: "test",
    });
    started.push(running);
    expect(await running.exited).toBe(1);
    expect(running.output()).toMatch(/BOOT_SECRET/);
  });

  it.each([
    ["BUS_SECRET", another],
    ["NAMESPACE", "elsewhere"],
  ])(
    "another %s is refused where the database is shared: on the bus the two do not hear each other",
    async (name, value) => {
      expect(await refused({ SERVICES: serviceFolders, [name]: value })).toBe(
        "NAMESPACE or BUS_SECRET of this process is another one than that of processes that use this database now: both must be the same on all.",
      );
    },
  );

  it.each([
    ["BUS_SECRET", another],
    ["NAMESPACE", "elsewhere"],
  ])("a gateway with another %s is never ready, and says why", async (name, value) => {
    const port = await freePort();
    const running = gateway({ [name]: value, HEALTH_PORT: String(port) });
    const url = await addressOf(running);
    const ready = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
      return { status: answer.status, body: await answer.json() };
    };
    await eventually(async () => {
      await ready();
      return /this gateway is not ready\. Are NATS_URL, NAMESPACE/.test(running.output());
    });
    expect(await ready()).toMatchObject({ status: 503, body: { checks: { services: "down", bus: "ok" } } });
    const begun = performance.now();
    const answer = await callApi(url, "GET", "/api/auth/tenants");
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it("PUBLIC_URL may differ while it is changed, and is said to", async () => {
    const running = run({ SERVICES: "mail", PUBLIC_URL: "http://elsewhere.test" });
    await running.printed(/PUBLIC_URL of this process and of another one differ/);
    await running.stop();
  });

  describe("JWT_SECRET, rotated without an outage", () => {
    it("each step fits beside the one before, and tokens of both secrets are good at all times", async () => {
      const old = cluster.settings["JWT_SECRET"] ?? "";
      const door = await cluster.startGateway();
      // The first step's process beside those that only know the old secret would sign with the old one: it fits.
      const first = await cluster.startServices({ SERVICES: accounts, JWT_PREVIOUS_SECRETS: another });
      const token = await signInAt(door, "admin");
      // The second step's beside the first's; the one that knows the old secret alone is gone by then.
      await services.stop();
      await cluster.startServices({ JWT_SECRET: another, JWT_PREVIOUS_SECRETS: old });
      const tokens = [token, ...(await Promise.all([1, 2, 3, 4].map(() => signInAt(door, "admin"))))];
      for (const each of [...tokens, ...tokens])
        expect((await door.call("GET", "/api/users/me", { token: each })).status).toBe(200);
      await first.stop();
      for (const each of tokens)
        expect((await door.call("GET", "/api/users/me", { token: each })).status).toBe(200);
    });
  });
});

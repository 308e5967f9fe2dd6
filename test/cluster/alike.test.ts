// Settings that must be the same on all processes. One that comes with another value says which, and is never ready; those
// that run are not touched by it, nor by a stranger who has the bus's login and makes up what nodes show of themselves.
// A gateway is ready once it has seen who answers behind it.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { connect } from "nats";
import { BusSeal } from "../../services/shared/bus/bus-seal.ts";
import { fingerprintsOf } from "../../host/consistency/equal-settings.ts";
import { type Cluster, type Gateway, serviceFolders, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { freePort } from "../support/nats.ts";
import { addressOf, callApi, eventually, type RunningProcess, runProcess } from "../support/service.ts";

const another = "another-value-of-another-deployment-entirely";
const accounts = "auth,tenants,users";

let cluster: Cluster;
let services: RunningProcess;
let door: Gateway;
let token = "";
const started: RunningProcess[] = [];

function run(settings: Record<string, string>): RunningProcess {
  const running = runProcess(settings);
  started.push(running);
  return running;
}

/** What a gateway holds: what the bus needs, and nothing else. */
function gatewaySettings(): Record<string, string> {
  const { DATABASE_URL: _database, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = cluster.settings;
  return { ...bare, SERVICES: "api-gateway" };
}

/** @returns the last line, where a process that cannot start says why */
async function refused(settings: Record<string, string>): Promise<string> {
  const running = run(settings);
  await eventually(async () => running.child.exitCode !== null);
  expect(await running.exited).toBe(1);
  return running.output().trimEnd().split("\n").at(-1) ?? "";
}

async function expectUntouched(): Promise<void> {
  expect(services.child.exitCode).toBeNull();
  expect(door.process.child.exitCode).toBeNull();
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => door.call("GET", "/api/users/me", { token })),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
}

describeWithNats("settings that must be equal", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    services = await cluster.startServices({ NODE_ID: "services-1" });
    door = await cluster.startGateway({ NODE_ID: "door-1" });
    token = await signInAt(door, "admin");
  });
  afterAll(async () => {
    await Promise.all(started.map((running) => running.stop()));
    await cluster?.stop();
  });
  afterEach(expectUntouched);

  it("another JWT_SECRET is refused in one sentence", async () => {
    expect(await refused({ ...cluster.settings, SERVICES: accounts, JWT_SECRET: another })).toBe(
      "JWT_SECRET of this process differs from that of the process services-1, and JWT_PREVIOUS_SECRETS do not hold each other's: one would refuse the tokens of the other.",
    );
  });

  it("another BOOT_SECRET is refused in one sentence, also where nothing has to be opened with it", async () => {
    expect(await refused({ ...gatewaySettings(), BOOT_SECRET: another })).toBe(
      "BOOT_SECRET of this process differs from that of the process services-1: it must be the same on all that have it.",
    );
  });

  it.each([
    ["BUS_SECRET", another],
    ["NAMESPACE", "elsewhere"],
  ])(
    "another %s is refused where the database is shared: on the bus the two do not hear each other",
    async (name, value) => {
      expect(await refused({ ...cluster.settings, SERVICES: serviceFolders, [name]: value })).toBe(
        "NAMESPACE or BUS_SECRET of this process differs from that of processes that use this database now: both must be the same on all (BUS_SECRET follows from BOOT_SECRET where it is not set).",
      );
    },
  );

  it.each<[string, Record<string, string>, string]>([
    [
      "BOOT_SECRET, from which BUS_SECRET follows,",
      { BUS_SECRET: "", BOOT_SECRET: another },
      "This gateway is not ready: BUS_SECRET differs from that of the other processes (it follows from BOOT_SECRET where it is not set).",
    ],
    [
      "NAMESPACE",
      { NAMESPACE: "elsewhere" },
      "This gateway is not ready: nobody else is on this bus under NAMESPACE elsewhere; it and NATS_URL must be those of the other processes.",
    ],
  ])("a gateway with another %s is not ready, and says why", async (_what, settings, sentence) => {
    const port = await freePort();
    const running = run({ ...gatewaySettings(), ...settings, HEALTH_PORT: String(port) });
    const url = await addressOf(running);
    await eventually(async () => running.output().includes(sentence));
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect({ status: ready.status, body: await ready.json() }).toEqual({
      status: 503,
      body: { ok: false, checks: { process: "ok", bus: "ok", services: "down" } },
    });
    const begun = performance.now();
    const answer = await callApi(url, "GET", "/api/auth/tenants");
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  it("a gateway with the right settings is ready once it has seen the services behind its routes", async () => {
    const port = await freePort();
    const running = run({ ...gatewaySettings(), HEALTH_PORT: String(port) });
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok);
    const url = await addressOf(running);
    expect((await callApi(url, "GET", "/api/auth/tenants")).status).toBe(200);
  });

  it("PUBLIC_URL may differ while it is changed, and is said to", async () => {
    const running = run({ ...cluster.settings, SERVICES: "mail", PUBLIC_URL: "http://elsewhere.test" });
    await running.printed(/PUBLIC_URL of this process and of another one differ/);
    await running.printed(/Records service is ready/);
    await running.stop();
  });

  it.each<[string, (subject: string, data: Buffer) => Buffer]>([
    ["unsealed", (_subject, data) => data],
    [
      "sealed with a secret of their own",
      (() => {
        const seal = new BusSeal(another, { foreign: 0, stale: 0, repeated: 0 });
        return (subject, data) => seal.seal(subject, data);
      })(),
    ],
  ])("what a stranger with the bus's login shows, %s, turns nobody away", async (_how, wrap) => {
    const bus = await connect({ servers: cluster.nats.address, ...cluster.nats.login });
    const held = { busSecret: another, bootSecret: another, jwtSecret: another, jwtPreviousSecrets: [] };
    const shown = fingerprintsOf(
      { ...held, auditSigningKey: another, publicUrl: another, keysHeldSeconds: 1 },
      "settled",
    );
    const packet = {
      ver: "5",
      sender: "a-stranger",
      start: "s",
      seq: 1,
      services: [],
      config: {},
      ipList: [],
    };
    const data = Buffer.from(JSON.stringify({ ...packet, instanceID: "s", metadata: { records: shown } }));
    const say = setInterval(() => {
      for (const subject of ["MOL-records.INFO", "MOL-records.INFO.services-1", "MOL-records.INFO.door-1"])
        bus.publish(subject, wrap(subject, data));
    }, 5);
    try {
      const newcomer = run({ ...cluster.settings, SERVICES: accounts, NODE_ID: "newcomer" });
      await newcomer.printed(/Records service is ready/);
      await expectUntouched();
      expect(await newcomer.stop()).toBe(0);
    } finally {
      clearInterval(say);
      await bus.close();
    }
  });

  describe("JWT_SECRET, rotated without an outage", () => {
    it("each step fits beside the one before, and tokens of both secrets are good at all times", async () => {
      const old = cluster.settings["JWT_SECRET"] ?? "";
      const me = async (each: string) => (await door.call("GET", "/api/users/me", { token: each })).status;
      const signIns = () => Promise.all([1, 2, 3, 4].map(() => signInAt(door, "admin")));
      // Step 1 beside processes that know the old secret alone: it signs with that one, and accepts both.
      const first = await cluster.startServices({ SERVICES: accounts, JWT_PREVIOUS_SECRETS: another });
      const tokens = [token, ...(await signIns())];
      for (const each of [...tokens, ...tokens]) expect(await me(each)).toBe(200);
      // Step 2 beside step 1, when no process knows the old secret alone any more.
      await services.stop();
      services = await cluster.startServices({
        NODE_ID: "services-2",
        JWT_SECRET: another,
        JWT_PREVIOUS_SECRETS: old,
      });
      // By turns at either process: half of these are signed with either secret.
      tokens.push(...(await signIns()));
      for (const each of [...tokens, ...tokens]) expect(await me(each)).toBe(200);
      // Gone back by one step too many: this one does not know the new key, but who does is asked.
      await services.stop();
      const undone = await cluster.startServices({ NODE_ID: "services-3" });
      for (const each of [...tokens, ...tokens]) expect(await me(each)).toBe(200);
      await undone.stop();
      // Step 3: once the old tokens have expired.
      services = await cluster.startServices({
        NODE_ID: "services-4",
        JWT_SECRET: another,
        JWT_PREVIOUS_SECRETS: old,
      });
      await first.stop();
      const last = await cluster.startServices({ NODE_ID: "services-5", JWT_SECRET: another });
      token = await signInAt(door, "admin");
      for (const each of Array.from({ length: 6 }, () => token)) expect(await me(each)).toBe(200);
      await services.stop();
      services = last;
      // Nobody has the old key any more: only now its tokens are false.
      expect(await me(tokens[0] ?? "")).toBe(401);
    });
  });
});

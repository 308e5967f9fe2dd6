// Processes and NATS that die, stop or stand still under load: bounded failures, told as 503, and no hand needed after.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { freePort } from "../support/nats.ts";
import { type Answer, eventually, type RunningProcess } from "../support/service.ts";

let cluster: Cluster;
let gateway: Gateway;
let services: RunningProcess;
let token = "";
let departmentId = 0;
let health = { gateway: "", services: "" };

interface Load {
  /** Resolves when so many more requests were answered. */
  answered(count: number): Promise<unknown>;
  /** Stops it and answers how each request ended. */
  stop(): Promise<{ statuses: Map<number, number>; failedAt: number[]; longestMs: number }>;
}

/** Six clients, one request after the other each; half of them write. */
function load(): Load {
  const ending = new AbortController();
  const statuses = new Map<number, number>();
  const failedAt: number[] = [];
  let longestMs = 0;
  let total = 0;
  const client = async (number: number) => {
    while (!ending.signal.aborted) {
      const begun = performance.now();
      const answer = await (number % 2 === 0
        ? gateway.call("GET", "/api/admin/users", { token })
        : gateway.call("PUT", `/api/admin/departments/${departmentId}`, {
            token,
            body: { name: `Ward ${total}` },
          }));
      longestMs = Math.max(longestMs, performance.now() - begun);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      total++;
      if (answer.status !== 200) {
        failedAt.push(begun);
        expectUnavailable(answer);
      }
    }
  };
  const clients = Promise.all(Array.from({ length: 6 }, (_, number) => client(number)));
  return {
    answered(count) {
      const enough = total + count;
      return eventually(async () => total >= enough);
    },
    async stop() {
      ending.abort();
      await clients;
      return { statuses, failedAt, longestMs };
    },
  };
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, body }).toEqual({
    status: 503,
    body: { detail: expect.any(String), code: expect.any(String) },
  });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
}

const me = () => gateway.call("GET", "/api/users/me", { token });
const probe = async (url: string) => (await fetch(url)).status;

/** Settings with probes of their own; answers their address too. */
async function withProbes(): Promise<{ settings: Record<string, string>; url: string }> {
  const port = await freePort();
  return { settings: { HEALTH_PORT: String(port) }, url: `http://127.0.0.1:${port}` };
}

describeWithNats("faults of a cluster", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    const [here, there] = await Promise.all([withProbes(), withProbes()]);
    services = await cluster.startServices(there.settings);
    gateway = await cluster.startGateway(here.settings);
    health = { gateway: here.url, services: there.url };
    token = await signInAt(gateway, "admin");
    departmentId = (await gateway.call("GET", "/api/admin/departments", { token })).body.items[0].id;
  });
  afterAll(() => cluster?.stop(), 40_000);

  it("NATS killed: 503 at once, ready and alive all the same; served again within 10 s after it is back", async () => {
    for (const url of [health.gateway, health.services]) {
      await eventually(async () => (await probe(`${url}/readyz`)) === 200);
      expect(await probe(`${url}/livez`)).toBe(200);
    }
    await cluster.nats.kill();
    for (let tries = 0; tries < 5; tries++) {
      const begun = performance.now();
      expectUnavailable(await me());
      expect(performance.now() - begun).toBeLessThan(2_000);
    }
    for (const url of [health.gateway, health.services]) {
      // Taken out of service they could not even say 503.
      const found = await eventually(async () => {
        const answer = await fetch(`${url}/readyz`);
        const body = (await answer.json()) as { checks: { bus: string } };
        return body.checks.bus === "down" && { status: answer.status, ...body };
      });
      expect(found).toMatchObject({ status: 200, ok: true });
      expect(await probe(`${url}/livez`)).toBe(200);
    }
    await cluster.nats.start();
    await eventually(async () => (await me()).status === 200);
    for (const url of [health.gateway, health.services]) {
      await eventually(async () => (await probe(`${url}/readyz`)) === 200);
      expect(await probe(`${url}/livez`)).toBe(200);
    }
  });

  it("a services process that gets SIGTERM under load, with another beside it: 0 failed requests", async () => {
    const second = await cluster.startServices();
    const running = load();
    await running.answered(200);
    expect(await services.stop("SIGTERM")).toBe(0);
    services = await cluster.startServices();
    await running.answered(200);
    expect(await second.stop("SIGTERM")).toBe(0);
    await running.answered(200);
    const { statuses } = await running.stop();
    expect([...statuses.keys()]).toEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(100);
  });

  it("a services process that is killed, with another beside it: what it was doing fails, and nothing else", async () => {
    const second = await cluster.startServices();
    const running = load();
    await running.answered(200);
    await services.stop("SIGKILL");
    services = second;
    await running.answered(200);
    const { statuses, failedAt, longestMs } = await running.stop();
    expect([...statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    // Each of the six clients had one request under way; one more each, where the news came a moment later.
    expect(failedAt.length).toBeLessThanOrEqual(12);
    // Far below the six seconds without a heartbeat; a busy machine takes its time.
    expect(longestMs).toBeLessThan(5_000);
  });

  it("no services at all: the gateway answers 503 and serves again when one comes", async () => {
    await services.stop("SIGTERM");
    for (let tries = 0; tries < 3; tries++) expectUnavailable(await me());
    await cluster.startServices();
    await eventually(async () => (await me()).status === 200);
  });
});

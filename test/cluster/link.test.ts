// Joining the bus: who may, who has to wait, and how a node that is deaf to it is found.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Cluster, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { freePort, type NatsServer, startNats } from "../support/nats.ts";
import { callApi, addressOf, eventually, type RunningProcess, runProcess } from "../support/service.ts";

let cluster: Cluster;
const started: RunningProcess[] = [];
const servers: NatsServer[] = [];

/** A gateway, which needs the bus and nothing else. */
function gateway(settings: Record<string, string>): RunningProcess {
  const { DATABASE_URL: _database, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = cluster.settings;
  const running = runProcess({ ...bare, SERVICES: "api-gateway", ...settings });
  started.push(running);
  return running;
}

describeWithNats("joining the bus", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    await cluster.startServices();
  });
  afterAll(async () => {
    await Promise.all(started.map((running) => running.stop()));
    for (const server of servers) await server.stop();
    await cluster?.stop();
  });

  it.each(["", "nobody:", "records:", "records:wrong"])(
    "the login %j is refused in one sentence",
    async (login) => {
      const url = `nats://${login}${login === "" ? "" : "@"}${cluster.nats.address}`;
      const running = gateway({ NATS_URL: url });
      expect(await running.exited).toBe(1);
      expect(running.output()).toBe(`The bus at ${cluster.nats.address} refuses the login of NATS_URL.\n`);
    },
  );

  it("tls:// to a server without TLS is refused, not answered in plain text", async () => {
    const running = gateway({ NATS_URL: cluster.nats.url.replace("nats://", "tls://") });
    expect(await running.exited).toBe(1);
    expect(running.output()).toBe(
      `The bus at ${cluster.nats.address} cannot be reached with NATS_URL (SERVER_OPT_NA).\n`,
    );
  });

  it("a bus that is not there yet is waited for, and said to be", async () => {
    const server = await startNats();
    servers.push(server);
    await server.stop();
    const running = gateway({ NATS_URL: server.url });
    await running.printed(/waiting for the bus/);
    await server.start();
    await running.printed(/Records service is ready/);
    expect(await running.stop()).toBe(0);
  });

  it("a node with another BUS_SECRET reaches nobody and says why", async () => {
    const running = gateway({ BUS_SECRET: "another-bus-key-of-another-deployment-entirely" });
    const url = await addressOf(running);
    await running.printed(/dropped: \d+ not sealed with our BUS_SECRET/);
    for (let tries = 0; tries < 5; tries++) {
      expect((await callApi(url, "GET", "/api/auth/tenants")).status).toBe(503);
    }
  });

  it("a node that one denied subscription has made deaf is never ready, and within 30 s not alive", async () => {
    const file = join(cluster.database.folder, "nats.conf");
    const password = "of-a-narrow-account";
    const denied = `permissions: { subscribe: { deny: ["MOL-records.HEARTBEAT"] } }`;
    await writeFile(
      file,
      `authorization: { users: [ { user: narrow, password: "${password}", ${denied} } ] }`,
    );
    const server = await startNats(["-c", file]);
    servers.push(server);
    const port = await freePort();
    const running = gateway({
      NATS_URL: `nats://narrow:${password}@${server.address}`,
      HEALTH_PORT: String(port),
    });
    const status = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        (response) => response.status,
        () => 0,
      );
    await eventually(async () => (await status("/readyz")) === 503);
    expect(await status("/livez")).toBe(200);
    await eventually(async () => (await status("/livez")) === 503);
    expect(running.child.exitCode).toBeNull();
    expect(running.output()).toMatch(/The bus refuses what this node must hear \(HEARTBEAT\)/);
    expect(await running.stop()).toBe(0);
  });
});

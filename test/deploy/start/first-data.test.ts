// The port opens when the service is ready, its first data included. Where processes are many, a gateway may be there before
// them: what it is asked meanwhile is 503, never the refusal of a right password.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createServer } from "node:net";
import { type Cluster, startCluster } from "../../support/cluster.ts";
import { describeWithNats } from "../../support/describe-with-nats.ts";
import {
  addressOf,
  callApi,
  demoPassword,
  eventually,
  runProcess,
  startDatabase,
  type TestDatabase,
  testSettings,
} from "../../support/service.ts";

const body = { email: "admin@platform.example", password: demoPassword, subdomain: "platform" };
const password = "Granite-Umbrella-58-Tide";
const lock = "hashtext('start.seed')";

/** From here on no process can make the first data. */
const hold = (database: TestDatabase) => database.owner.query(`select pg_advisory_lock(${lock})`);
const release = (database: TestDatabase) => database.owner.query(`select pg_advisory_unlock(${lock})`);

/** A process has come as far as making them. */
const waits = (database: TestDatabase) =>
  eventually(async () => {
    const { rowCount } = await database.owner.query(
      "select from pg_locks where locktype = 'advisory' and not granted",
    );
    return (rowCount ?? 0) > 0;
  });

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("one process", () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await startDatabase();
  });
  afterAll(() => database.stop());

  it("takes no connection, and is not ready, until the first data are there; in production all it says is JSON", async () => {
    const [port, healthPort] = [await freePort(), await freePort()];
    await hold(database);
    const running = runProcess({
      ...testSettings(database),
      PORT: String(port),
      HEALTH_PORT: String(healthPort),
      NODE_ENV: "production",
      HOST: "127.0.0.1",
      DEMO_MODE: "false",
      ADMIN_PASSWORD: password,
    });
    try {
      await waits(database);
      await expect(fetch(`http://127.0.0.1:${port}/api/auth/tenants`)).rejects.toThrow("fetch failed");
      expect((await fetch(`http://127.0.0.1:${healthPort}/livez`)).status).toBe(200);
      expect((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status).toBe(503);
      await release(database);
      const url = await addressOf(running);
      const right = { ...body, password };
      expect((await callApi(url, "POST", "/api/auth/login", { body: right })).status).toBe(200);
      const entries = running
        .output()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(entries.filter(({ msg }) => msg === "Records service is ready")).toEqual([
        expect.objectContaining({ level: "info", publicUrl: "http://records.test", listening: url }),
      ]);
      await eventually(async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 200);
    } finally {
      expect(await running.stop()).toBe(0);
    }
  });
});

describeWithNats("several processes", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  it("a gateway answers 503 with Retry-After until the first data are there, and then 200", async () => {
    const { DATABASE_URL: _url, BOOT_SECRET: _boot, JWT_SECRET: _jwt, ...bare } = cluster.settings;
    const gateway = runProcess({ ...bare, SERVICES: "api-gateway" });
    const url = await addressOf(gateway);
    const statuses: number[] = [];
    const signIn = async () => {
      const answer = await callApi(url, "POST", "/api/auth/login", { body });
      statuses.push(answer.status);
      if (answer.status === 503) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      return answer.status;
    };
    try {
      // Nobody else is there yet.
      expect(await signIn()).toBe(503);
      await hold(cluster.database);
      const services = cluster.startServices();
      await waits(cluster.database);
      for (let turn = 0; turn < 10; turn++) await signIn();
      await release(cluster.database);
      await services;
      await eventually(async () => (await signIn()) === 200);
      expect(new Set(statuses)).toEqual(new Set([503, 200]));
    } finally {
      await gateway.stop();
    }
  });
});

// The processes of docker-compose.yml, with exactly the environment it gives them (only hosts and ports are replaced):
// that what is written there starts, finds each other and serves.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { join } from "node:path";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { freePort, type NatsServer, startNats } from "../support/nats.ts";
import { program, type S3Server, startS3 } from "../support/s3.ts";
import {
  addressOf,
  type Answer,
  callApi,
  type CallOptions,
  eventually,
  type RunningProcess,
  runProcess,
  startDatabase,
  type TestDatabase,
} from "../support/service.ts";
import { served } from "../support/served.ts";
import { interpolate, readYaml, type Tree } from "./deployment-files.ts";

const [compose] = readYaml("docker-compose.yml");
const names = ["gateway", "accounts", "backups", "crypto", "support", "outbound"] as const;
/** What the operator puts into .env; no more than what is demanded. */
const given = {
  BOOT_SECRET: "W6hTn1QyXo0SvIbKzGjMlPdFr3CuAi7R",
  BUS_SECRET: "d8Xw2LpQe5RtYu7IoPa9SdFgHjKlZx3C",
  AUDIT_SIGNING_KEY: "Qp7vXc3MnZ9kLj5HgFd2SaRe8TyUw4Bo",
  DATABASE_PASSWORD_ACCOUNTS: "aW5tGy8UiKm2XcVb",
  DATABASE_PASSWORD_BACKUPS: "eU9iKl6FsWd7OaMx",
  DATABASE_PASSWORD_CRYPTO: "bE6rTf9OpLn3ZsDq",
  DATABASE_PASSWORD_SUPPORT: "cR7yHj4WqNb5MxKv",
  DATABASE_PASSWORD_OUTBOUND: "dT8uJk5ErVc6NzLw",
  JWT_SECRET: "k3Vq9ZtB7wLx2NfRmYp5HsDcJgUa8Ee4",
  ADMIN_PASSWORD: "Quiet-Harbour-58",
  POSTGRES_PASSWORD: "c2d1b7a94e03",
  NATS_PASSWORD: "9e3107fb52ac",
  S3_ACCESS_KEY: "records-compose",
  S3_SECRET_KEY: "5f0c1de8a72b93",
};

describeWithNats("the processes of docker-compose.yml", () => {
  let database: TestDatabase;
  let nats: NatsServer;
  const processes = new Map<string, RunningProcess>();
  const healthPorts = new Map<string, number>();
  let store: S3Server | undefined;
  /** Nobody listens there where no S3 server is installed. */
  let storeUrl = "http://127.0.0.1:9";
  let url = "";
  let token = "";

  const environmentOf = (name: string): Record<string, string> => {
    const { environment }: Tree = compose.services[name];
    const [, socket = ""] = /@(.*)\/records$/.exec(database.url) ?? [];
    const filled = Object.entries<string>(environment).map(([key, value]) => [
      key,
      interpolate(value, given)
        .replace("nats:4222", nats.address)
        .replace("postgres:5432", socket)
        .replace("http://store:7070", storeUrl)
        .replace(/^backups$/, key === "BACKUP_STREAM_HOST" ? "127.0.0.1" : "backups"),
    ]);
    return { ...Object.fromEntries(filled), DATA_DIR: join(database.folder, name) };
  };
  const call = (method: string, path: string, options?: CallOptions): Promise<Answer> =>
    callApi(url, method, path, options);
  const readiness = async (name: string) =>
    (await fetch(`http://127.0.0.1:${healthPorts.get(name)}/readyz`)).status;

  beforeAll(async () => {
    const login = compose.services.nats.command.slice(0, 4).map((each: string) => interpolate(each, given));
    [nats, database] = await Promise.all([startNats(login), startDatabase()]);
    // The test of the store is skipped by its name then.
    if (program === undefined) return;
    const { S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey } = given;
    store = await startS3({ credentials: { accessKey, secretKey }, region: "us-east-1" });
    storeUrl = store.options("any").endpoint;
  });
  afterAll(async () => {
    for (const running of processes.values()) await running.stop();
    await nats.stop();
    await database.stop();
    await store?.stop();
  });

  it("demand what an operator has to choose", () => {
    const { ADMIN_PASSWORD: _left, ...less } = given;
    expect(() => interpolate(compose.services.accounts.environment.ADMIN_PASSWORD, less)).toThrow(
      /first superadmin/,
    );
  });

  it("migrate, then start on what was migrated, and are all ready", async () => {
    const owner = { ...environmentOf("migrate"), DATABASE_URL: database.url };
    const migration = runProcess(owner, compose.services.migrate.command[1]);
    expect({ code: await migration.exited, said: migration.output() }).toMatchObject({ code: 0 });
    for (const name of names) {
      const port = await freePort();
      healthPorts.set(name, port);
      const here = { HOST: "127.0.0.1", HEALTH_PORT: String(port) };
      const env = { ...environmentOf(name), ...here, ...(name === "gateway" ? { PORT: "0" } : {}) };
      processes.set(name, runProcess(env));
    }
    for (const [name, running] of processes) {
      await running.printed(/Records service is ready/);
      await eventually(async () => (await readiness(name)) === 200);
    }
    const gateway = processes.get("gateway");
    if (gateway !== undefined) url = await addressOf(gateway);
  });

  it("let the first superadmin in, and nobody else", async () => {
    const body = { email: "admin@platform.example", subdomain: "platform", password: given.ADMIN_PASSWORD };
    const answer = await served(url, "POST", "/api/auth/login", { body });
    expect(answer.status).toBe(200);
    token = answer.body.access_token;
    const wrong = await call("POST", "/api/auth/login", { body: { ...body, password: "Open-Sesame-4711" } });
    expect(wrong.status).toBe(401);
  });

  it("serve what lies in each of them", async () => {
    const tenant = await call("POST", "/api/admin/tenants", {
      token,
      body: { name: "Clinic", subdomain: "clinic" },
    });
    expect(tenant.status).toBe(201);
    const entries = `/api/admin/audit?action=tenant.create&tenant_id=${tenant.body.id}`;
    expect(await served(url, "GET", entries, { token })).toMatchObject({ status: 200, body: { total: 1 } });
    expect(await served(url, "GET", "/api/webhooks", { token })).toMatchObject({ status: 200, body: [] });
    const health = await call("GET", "/api/admin/health", { token });
    expect(health).toMatchObject({ status: 200, body: { checks: { postgres: "ok", bus: "ok" } } });
  });

  (program === undefined ? it.skip : it)("keep backups in the store, and hand them out", async () => {
    const health = await eventually(async () => {
      const { body } = await call("GET", "/api/admin/health", { token });
      return body.checks.object_store === "ok" && body;
    });
    expect(health.checks.object_store).toBe("ok");
    const made = await served(url, "POST", "/api/admin/backup/create", { token, body: { type: "full" } });
    expect(made.status).toBe(200);
    const { job_id: job, backup_id: backup } = made.body;
    const ended = await eventually(async () => {
      const { body } = await call("GET", `/api/admin/backup/status/${job}`, { token });
      return ["succeeded", "failed"].includes(body.status) && body;
    });
    expect(ended).toMatchObject({ status: "succeeded", error: null });
    const headers = { Authorization: `Bearer ${token}` };
    const download = await fetch(`${url}/api/admin/backup/download/${backup}`, { headers });
    expect(download.status).toBe(200);
    expect((await download.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
  });

  it("keep no secret in what they print", () => {
    const printed = [...processes.values()].map((running) => running.output()).join("\n");
    for (const secret of Object.values(given)) expect(printed).not.toContain(secret);
  });

  it("stop in order", async () => {
    const codes = await Promise.all([...processes.values()].map((running) => running.stop()));
    expect(codes).toEqual(names.map(() => 0));
    processes.clear();
  });
});

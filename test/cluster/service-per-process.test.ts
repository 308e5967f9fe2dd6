// One process for each service, as the chart's `layout: services` deploys them: each with the secrets that the chart's table
// gives it and no others, in production, on addresses of IPv6 where the machine has one. They make the first data together and
// serve.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createHash } from "node:crypto";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { readYaml, serviceFolders, type Tree } from "../deploy/deployment-files.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { migrate } from "../support/logins.ts";
import { freePort, type NatsServer, startNats } from "../support/nats.ts";
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
import { type Receiver, startReceiver } from "../support/webhooks.ts";

const [table] = readYaml("charts/records/files/services.yaml");
const secretOf = (name: string) => createHash("sha256").update(name).digest("hex");
const withDatabase = serviceFolders.filter((service) => table.services[service].group !== undefined);
/** As the chart makes it: a login for each, named by the service without dashes. */
const loginOf = (service: string) => service.replaceAll("-", "");
const DATABASE_LOGINS = withDatabase.map((service) => `${loginOf(service)}=${service}`).join(";");
const passwordOf = (login: string) => `DATABASE_PASSWORD_${login.toUpperCase()}`;
const hasIpv6 = Object.values(networkInterfaces()).some((each) =>
  each?.some(({ address }) => address === "::1"),
);
const host = hasIpv6 ? "::" : "0.0.0.0";
const own = hasIpv6 ? "::1" : "127.0.0.1";

describeWithNats("one process for each service", () => {
  let database: TestDatabase;
  let nats: NatsServer;
  let receiver: Receiver;
  const processes = new Map<string, { running: RunningProcess; healthPort: number }>();
  let url = "";

  /** What the chart gives a Deployment of this service; the database's host and the bus are this machine's. */
  const environmentOf = (service: string, healthPort: number): Record<string, string> => {
    const { group, secrets = [], labels = [] }: Tree = table.services[service];
    const [, socket = ""] = /@(.*)$/.exec(database.url) ?? [];
    const given = secrets.filter(({ name, optional }: Tree) => optional !== true && !name.startsWith("S3_"));
    return {
      NODE_ENV: "production",
      HOST: host,
      PORT: "0",
      HEALTH_PORT: String(healthPort),
      DATA_DIR: join(database.folder, service),
      PUBLIC_URL: "https://records.example",
      AUDIT_CHECKPOINT_DIR: "off",
      WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
      SERVICES: service,
      NODE_ID: service,
      NATS_URL: nats.url,
      BUS_SECRET: secretOf("bus"),
      ...(labels.includes("serves-archives") ? { BACKUP_STREAM_HOST: own } : {}),
      ...(group === undefined
        ? {}
        : {
            DATABASE_LOGINS,
            // And one for probes: the embedded server takes 60.
            DATABASE_POOL_MAX: "3",
            DATABASE_APP_URL: `postgresql://${socket}`,
            [passwordOf(loginOf(service))]: secretOf(service),
          }),
      ...Object.fromEntries(given.map(({ name }: Tree) => [name, secretOf(name)])),
    };
  };
  const call = (method: string, path: string, options?: CallOptions): Promise<Answer> =>
    callApi(url, method, path, options);
  const signIn = async (email: string, subdomain: string, password: string): Promise<string> => {
    const answer = await served(url, "POST", "/api/auth/login", { body: { email, subdomain, password } });
    expect(answer.status).toBe(200);
    return answer.body.access_token;
  };

  beforeAll(async () => {
    [nats, database, receiver] = await Promise.all([startNats(), startDatabase(), startReceiver()]);
    await migrate({
      NODE_ENV: "production",
      DATABASE_URL: database.url,
      BOOT_SECRET: secretOf("BOOT_SECRET"),
      DATABASE_LOGINS,
      ...Object.fromEntries(withDatabase.map((service) => [passwordOf(loginOf(service)), secretOf(service)])),
    });
  });
  afterAll(async () => {
    await Promise.all([...processes.values()].map(({ running }) => running.stop()));
    await Promise.all([nats.stop(), receiver.stop()]);
    await database.stop();
  });

  const start = async (service: string): Promise<RunningProcess> => {
    const healthPort = await freePort();
    const running = runProcess(environmentOf(service, healthPort));
    processes.set(service, { healthPort, running });
    return running;
  };

  it("starts, each by itself, and makes the first data together", async () => {
    // The first data are made by these three: users waits for the others.
    const first = ["users", "auth", "tenants"];
    const order = [...first, ...serviceFolders.filter((service) => !first.includes(service))];
    // Not all at once: on two cores they would keep each other from starting for a minute.
    for (let at = 0; at < order.length; at += 3) {
      const some = await Promise.all(order.slice(at, at + 3).map(start));
      await Promise.all(some.map((running) => running.printed(/Records service is ready/)));
    }
    for (const { healthPort } of processes.values()) {
      const ready = `http://${hasIpv6 ? "[::1]" : "127.0.0.1"}:${healthPort}/readyz`;
      await eventually(async () => (await fetch(ready)).status === 200);
    }
    const gateway = processes.get("api-gateway");
    if (gateway === undefined) throw new Error("no gateway was started");
    const { port } = new URL(await addressOf(gateway.running));
    url = `http://${hasIpv6 ? "[::1]" : "127.0.0.1"}:${port}`;
    // An address that listens on IPv6 is there for IPv4 too.
    expect((await callApi(`http://127.0.0.1:${port}`, "GET", "/api/nothing")).status).toBe(404);
  });

  it("serves a clinic: sign-in, tenant, patient, webhook, audit, backup and its download", async () => {
    const token = await signIn("admin@platform.example", "platform", secretOf("ADMIN_PASSWORD"));
    const { body: tenant } = await served(url, "POST", "/api/admin/tenants", {
      token,
      body: { name: "North", subdomain: "north" },
    });
    const password = "Quiet-Harbour-58";
    const account = (role: string) => ({ email: `${role}@north.example`, password, full_name: role, role });
    const adminOf = { ...account("admin"), tenant_id: tenant.id };
    expect(await served(url, "POST", "/api/admin/users", { token, body: adminOf })).toMatchObject({
      status: 201,
    });
    const admin = await signIn("admin@north.example", "north", password);
    const department = await served(url, "POST", "/api/admin/departments", {
      token: admin,
      body: { name: "Surgery" },
    });
    const doctorOf = { ...account("doctor"), department_id: department.body.id };
    expect(await served(url, "POST", "/api/admin/users", { token: admin, body: doctorOf })).toMatchObject({
      status: 201,
    });
    const doctor = await signIn("doctor@north.example", "north", password);
    const hook = { url: receiver.url, events: ["patient.created"] };
    const registered = await served(url, "POST", "/api/webhooks/register", { token: admin, body: hook });
    expect(registered).toMatchObject({ status: 201 });
    const body = { record_number: "N-1", full_name: "Zoë Åberg", notes: "Only hers." };
    const made = await served(url, "POST", "/api/patients", { token: doctor, body });
    expect(made).toMatchObject({ status: 201, body });
    const read = await served(url, "GET", `/api/patients/${made.body.id}`, { token: doctor });
    expect(read).toMatchObject({ status: 200, body });
    await eventually(async () =>
      receiver.received.some(({ body: sent }) => sent.includes("patient.created")),
    );
    const entries = await served(url, "GET", "/api/admin/audit?action=patient.create", { token: admin });
    expect(entries).toMatchObject({ status: 200, body: { total: 1 } });

    const begun = await served(url, "POST", "/api/admin/backup/create", { token, body: { type: "full" } });
    expect(begun.status).toBe(200);
    const ended = await eventually(async () => {
      const { body: job } = await call("GET", `/api/admin/backup/status/${begun.body.job_id}`, { token });
      return ["succeeded", "failed"].includes(job.status) && job;
    });
    expect(ended).toMatchObject({ status: "succeeded", error: null });
    const download = await fetch(`${url}/api/admin/backup/download/${begun.body.backup_id}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    expect(download.status).toBe(200);
    expect((await download.arrayBuffer()).byteLength).toBeGreaterThan(1_000);
    const health = await served(url, "GET", "/api/admin/health", { token });
    expect(health.body.checks).toMatchObject({ postgres: "ok", bus: "ok" });
  });

  it("misses no right in the database, and stops in order", async () => {
    const all = [...processes.values()].map(({ running }) => running);
    const codes = await Promise.all(all.map((running) => running.stop()));
    expect(codes).toEqual(serviceFolders.map(() => 0));
    const said = all.map((running) => running.output()).join("\n");
    expect(said).not.toMatch(/permission denied|42501/);
    processes.clear();
  });
});

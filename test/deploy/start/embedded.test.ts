// The service as `npm start` runs it on a bare machine: everything embedded under DATA_DIR.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { descendantsOf } from "../../support/descendants.ts";
import { allGone } from "../../support/processes.ts";
import {
  addressOf,
  callApi,
  demoPassword,
  eventually,
  type RunningProcess,
  runProcess,
} from "../../support/service.ts";

let folder = "";
let dataDir = "";
const started: RunningProcess[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-start-"));
  dataDir = join(folder, "data");
});
afterEach(async () => {
  for (const running of started.splice(0)) await running.stop();
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));

interface Started {
  running: RunningProcess;
  url: string;
  token: string;
  /** The service and all it started. */
  pids: number[];
}

async function start(): Promise<Started> {
  const running = runProcess({ DATA_DIR: dataDir, PORT: "0", RATE_LOGIN_PER_MINUTE: "1000" });
  started.push(running);
  const url = await addressOf(running);
  const body = { email: "admin@demo.example", password: demoPassword, subdomain: "demo" };
  const { body: signedIn } = await callApi(url, "POST", "/api/auth/login", { body });
  const pid = running.child.pid ?? 0;
  return { running, url, token: signedIn.access_token, pids: [pid, ...(await descendantsOf(pid))] };
}

const createDepartment = ({ url, token }: Started, name: string) =>
  callApi(url, "POST", "/api/admin/departments", { token, body: { name } });

async function departmentNames({ url, token }: Started): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page++) {
    const path = `/api/admin/departments?limit=200&page=${page}`;
    const { body } = await callApi(url, "GET", path, { token });
    names.push(...body.items.map((item: { name: string }) => item.name));
    if (page >= body.pages) return names;
  }
}

describe("starting and stopping", () => {
  let firstToken = "";

  it("the first start makes everything, prints how to sign in, and SIGTERM ends all of it with 0", async () => {
    const service = await start();
    expect(service.running.output()).toMatch(/Sign in as admin: subdomain demo, e-mail admin@demo\.example/);
    expect(service.pids.length).toBeGreaterThan(1);
    expect((await createDepartment(service, "Kept")).status).toBe(201);
    firstToken = service.token;
    expect(await service.running.stop("SIGTERM")).toBe(0);
    await allGone(service.pids);
  });

  it("the second start is quick and has all data and secrets; SIGINT ends it with 0", async () => {
    const begun = performance.now();
    const service = await start();
    // About a second on an idle machine; the bound is for one that is busy with other tests.
    expect(performance.now() - begun).toBeLessThan(15_000);
    expect(await departmentNames(service)).toContain("Kept");
    const me = await callApi(service.url, "GET", "/api/users/me", { token: firstToken });
    expect(me.status).toBe(200);
    expect(await service.running.stop("SIGINT")).toBe(0);
    await allGone(service.pids);
    expect(await readdir(dataDir)).not.toContain("instance.pid");
  });

  it("a second instance on the same folder is refused in one sentence and disturbs nothing", async () => {
    const service = await start();
    const second = runProcess({ DATA_DIR: dataDir, PORT: "0" });
    expect(await second.exited).toBe(1);
    expect(second.output()).toBe(
      `${dataDir} is in use by another instance (process ${service.running.child.pid}).\n`,
    );
    expect((await createDepartment(service, "Undisturbed")).status).toBe(201);
  });

  it("its database is reached by the address that `npm run psql -- --url` prints, while it runs and when it does not", async () => {
    const service = await start();
    const psql = () => runProcess({ DATA_DIR: dataDir }, "host/psql.ts", ["--url"]);
    const ask = async (url = "") => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query("select count(*)::integer as tenants from tenants");
      await client.end();
      return rows[0].tenants;
    };
    const beside = psql();
    expect(await beside.exited).toBe(0);
    expect(await ask(beside.output().trim())).toBe(2);
    expect(await service.running.stop()).toBe(0);
    const alone = psql();
    started.push(alone);
    const [url] = await alone.printed(/^postgresql:\S+\n/m);
    expect(await ask(url.trim())).toBe(2);
    const pids = await descendantsOf(alone.child.pid ?? 0);
    expect(await alone.stop("SIGINT")).toBe(0);
    await allGone(pids);
  });

  it("SIGINT twice within a second, as npm passes it on, is one: it ends in order with 0", async () => {
    const service = await start();
    service.running.child.kill("SIGINT");
    service.running.child.kill("SIGINT");
    expect(await service.running.exited).toBe(0);
    await allGone(service.pids);
  });

  it("a stop during the first start says nothing and leaves nothing running", async () => {
    const running = runProcess({ DATA_DIR: join(folder, "interrupted"), PORT: "0" });
    started.push(running);
    const pids = await eventually(async () => {
      const found = await descendantsOf(running.child.pid ?? 0);
      return found.length > 0 && found;
    });
    running.child.kill("SIGINT");
    expect(await running.exited).toBe(0);
    await allGone(pids);
    expect(running.output()).not.toMatch(/error|could not|^\s+at /im);
  });
});

describe("faults", () => {
  it("kill -9 under writes: every acknowledged write is there after the next start, and nothing runs on", async () => {
    const service = await start();
    const acknowledged: string[] = [];
    let sent = 0;
    const write = async () => {
      for (;;) {
        const name = `Ward ${++sent}`;
        const answer = await createDepartment(service, name).catch(() => undefined);
        // The killed process answers no more.
        if (answer === undefined) return;
        if (answer.status === 201) acknowledged.push(name);
        if (acknowledged.length === 150) service.running.child.kill("SIGKILL");
      }
    };
    await Promise.all(Array.from({ length: 8 }, write));
    const after = await start();
    await allGone(service.pids);
    const present = await departmentNames(after);
    const wards = present.filter((name) => name.startsWith("Ward"));
    expect(acknowledged.length).toBeGreaterThanOrEqual(150);
    expect(acknowledged.filter((name) => !wards.includes(name))).toEqual([]);
    expect(new Set(wards).size).toBe(wards.length);
    const { token } = after;
    const verified = await callApi(after.url, "GET", "/api/admin/audit/verify", { token });
    expect(verified.body).toMatchObject({ ok: true, first_bad_seq: null });
    const audit = await callApi(after.url, "GET", "/api/admin/audit?action=department.create&limit=1", {
      token,
    });
    expect(audit.body.total).toBe(present.length);
    expect(await after.running.stop()).toBe(0);
    await allGone(after.pids);
  });

  it("the end of the embedded database ends the service with a sentence and a code", async () => {
    const service = await start();
    const [postmaster = 0] = await descendantsOf(service.running.child.pid ?? 0);
    process.kill(postmaster, "SIGKILL");
    expect(await service.running.exited).toBe(1);
    expect(service.running.output()).toContain(
      "The embedded PostgreSQL ended by itself (ended by SIGKILL).\n",
    );
    await allGone(service.pids);
  });
});

// PostgreSQL that goes away for a while under a running service: refused quickly, served again without a restart.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createServer } from "node:net";
import pg from "pg";
import { startEmbeddedPostgres } from "../../../host/embedded/postgres.ts";
import { descendantsOf } from "../../support/descendants.ts";
import { type Answer, eventually, startService, type TestService } from "../../support/service.ts";

let service: TestService;
let token = "";
let health = "";

beforeAll(async () => {
  const port = await freePort();
  health = `http://127.0.0.1:${port}`;
  service = await startService({ HEALTH_PORT: String(port) });
  // The harness's own connection breaks with the server.
  service.database.owner.on("error", () => undefined);
  token = await service.signIn("admin");
});
afterAll(() => service.stop());

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

const probe = async (path: string) => {
  const response = await fetch(`${health}${path}`);
  // Two fixed shapes of ours.
  return { status: response.status, body: (await response.json()) as { ok: boolean; checks: object } };
};
const list = () => service.call("GET", "/api/admin/users", { token });
const create = (name: string) => service.call("POST", "/api/admin/departments", { token, body: { name } });
const signIn = () =>
  service.call("POST", "/api/auth/login", {
    body: { email: "nurse@demo.example", password: "Open-Sesame-4711", subdomain: "demo" },
  });

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, body }).toEqual({
    status: 503,
    body: { detail: expect.any(String), code: expect.stringMatching(/^(?:unavailable|busy)$/) },
  });
  expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
}

async function within(msMax: number, call: () => Promise<Answer>): Promise<Answer> {
  const begun = performance.now();
  const answer = await call();
  expect(performance.now() - begun).toBeLessThan(msMax);
  return answer;
}

it("both probes are 200 while everything is there; other paths are 404", async () => {
  expect(await probe("/livez")).toEqual({ status: 200, body: { ok: true, checks: { process: "ok" } } });
  expect(await probe("/readyz")).toEqual({
    status: 200,
    body: { ok: true, checks: { process: "ok", postgres: "ok", services: "ok" } },
  });
  expect((await probe("/")).status).toBe(404);
});

describe("a server that was stopped", () => {
  let name = "";
  let restarted: { stop(): Promise<void> } | undefined;
  afterAll(() => restarted?.stop());

  it("reads, writes and sign-ins are 503 with Retry-After, none of them hangs; the process stays ready to say so, and alive", async () => {
    name = (await create("Before")).body.name;
    await service.database.postgres.stop();
    for (const call of [list, () => create("During"), signIn]) expectUnavailable(await within(5_500, call));
    const many = await Promise.all(Array.from({ length: 40 }, () => within(5_500, list)));
    many.forEach(expectUnavailable);
    const down = { process: "ok", postgres: "down", services: "ok" };
    await eventually(
      async () => JSON.stringify((await probe("/readyz")).body.checks) === JSON.stringify(down),
    );
    expect(await probe("/readyz")).toEqual({ status: 200, body: { ok: true, checks: down } });
    expect((await probe("/livez")).status).toBe(200);
  });

  it("everything is served within 5 s after it is back, without a restart", async () => {
    restarted = await startEmbeddedPostgres({
      dataDir: service.database.folder,
      password: "owner-password-of-tests",
      log: () => {},
    });
    const served = async (call: () => Promise<Answer>, status: number) =>
      eventually(async () => (await call()).status === status);
    await Promise.all([served(list, 200), served(signIn, 200), served(() => create("After"), 201)]);
    await eventually(async () => (await probe("/readyz")).status === 200);
    const { body } = await service.call("GET", "/api/admin/departments", { token });
    const names = body.items.map((item: { name: string }) => item.name);
    expect(names).toEqual(expect.arrayContaining([name, "After"]));
    expect(names).not.toContain("During");
  });

  it("connections that break in the middle of requests cost these requests 503 at most", async () => {
    const url = service.settings["DATABASE_URL"];
    const killer = new pg.Client({ connectionString: url });
    await killer.connect();
    const ending = new AbortController();
    const statuses = new Set<number>();
    const load = async (n: number) => {
      while (!ending.signal.aborted) {
        const answer = await (n % 2 === 0 ? list() : create(`Ward ${n} ${performance.now()}`));
        statuses.add(answer.status);
        if (answer.status === 503) expectUnavailable(answer);
      }
    };
    const clients = Array.from({ length: 8 }, (_, n) => load(n));
    for (let kills = 0; kills < 20; kills++) {
      await list();
      await killer.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'records'",
      );
    }
    ending.abort();
    await Promise.all(clients);
    await killer.end();
    expect([...statuses].filter((status) => ![200, 201, 503].includes(status))).toEqual([]);
    await eventually(async () => (await list()).status === 200);
  });

  it("a server that only stands still is answered for with 503 as well, and served when it moves again", async () => {
    const pid = (restarted as unknown as { processId: number }).processId;
    // The postmaster first: then no new process can come beside those that are listed.
    process.kill(pid, "SIGSTOP");
    const all = [pid, ...(await descendantsOf(pid))];
    for (const each of all) process.kill(each, "SIGSTOP");
    try {
      // One silence is noticed after 5.5 s; who waited behind it is cut off by the bus's own limit.
      const calls = [list, list, () => create("Stopped"), signIn];
      const answers = await Promise.all(calls.map((call) => within(11_000, call)));
      answers.forEach(expectUnavailable);
      // Who comes now does not wait for what is known.
      for (const call of calls) expectUnavailable(await within(2_000, call));
      // Ready to say so, as everybody else is.
      expect(await probe("/readyz")).toEqual({
        status: 200,
        body: { ok: true, checks: { process: "ok", postgres: "down", services: "ok" } },
      });
      expect((await probe("/livez")).status).toBe(200);
    } finally {
      for (const each of all) process.kill(each, "SIGCONT");
    }
    await eventually(async () => (await list()).status === 200);
    await eventually(async () => (await create("Moving")).status === 201);
  });
});

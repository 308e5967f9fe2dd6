// Starts that cannot succeed: one clear sentence per fault on standard error, no stack, a code, nothing left running.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { copyCheckout } from "../../support/checkout.ts";
import { descendantsOf } from "../../support/descendants.ts";
import { allGone } from "../../support/processes.ts";
import { runProcess, startDatabase, type TestDatabase, testSettings } from "../../support/service.ts";

/** A start fails within a second or two; the rest is for machines that are busy with other tests. */
const msMax = 20_000;
const root = join(import.meta.dirname, "../../..");
let folder = "";
let database: TestDatabase;
let settings: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-refusals-"));
  database = await startDatabase();
  settings = testSettings(database);
});
afterAll(async () => {
  await database.stop();
  await rm(folder, { recursive: true, force: true });
});

interface Refusal {
  code: number | null;
  sentences: string[];
}

async function refusal(env: Record<string, string>): Promise<Refusal> {
  const begun = performance.now();
  const running = runProcess(env);
  let stderr = "";
  running.child.stderr?.on("data", (chunk: string) => {
    stderr += chunk;
  });
  const pids = new Set<number>();
  const watch = setInterval(() => {
    void descendantsOf(running.child.pid ?? 0).then((found) => found.forEach((pid) => pids.add(pid)));
  }, 250);
  const late = setTimeout(() => running.child.kill("SIGKILL"), msMax);
  const code = await running.exited;
  clearTimeout(late);
  clearInterval(watch);
  expect(performance.now() - begun).toBeLessThan(msMax);
  await allGone([...pids]);
  expect(running.output()).not.toMatch(/^\s+at /m);
  expect(running.output()).not.toContain("ready");
  return { code, sentences: stderr.trimEnd().split("\n") };
}

const withUrl = (from: string, to: string) => ({ ...settings, DATABASE_URL: database.url.replace(from, to) });

describe("a database that cannot be used", () => {
  it.each([
    ["a refused connection", () => ({ DATABASE_URL: "postgresql://a:b@127.0.0.1:1/x" }), /ECONNREFUSED/],
    [
      "a host that does not exist",
      () => ({ DATABASE_URL: "postgresql://a:b@nowhere.invalid/x" }),
      /nowhere\.invalid/,
    ],
    ["a wrong password", () => withUrl("owner-password-of-tests", "wrong"), /authentication failed/],
    ["an unknown database", () => withUrl("/records", "/nothing"), /"nothing" does not exist/],
  ])("%s", async (_name, env, reason) => {
    const { code, sentences } = await refusal({ ...settings, ...env() });
    expect(code).toBe(1);
    expect(sentences).toEqual([
      expect.stringMatching(/^The database cannot be reached with DATABASE_URL: .+\.$/),
    ]);
    expect(sentences[0]).toMatch(reason);
  });

  it("a login that may bypass row-level security", async () => {
    const { code, sentences } = await refusal({ ...settings, DATABASE_APP_URL: database.url });
    expect(code).toBe(1);
    expect(sentences).toEqual([
      "The database login postgres may bypass row-level security: use one that may not.",
    ]);
  });
});

describe("addresses", () => {
  let taken: Server;
  let port = 0;
  beforeAll(async () => {
    taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    if (typeof address === "object" && address !== null) port = address.port;
  });
  afterAll(() => new Promise((resolve) => taken.close(resolve)));

  it("a taken port", async () => {
    const { code, sentences } = await refusal({ ...settings, PORT: String(port) });
    expect({ code, sentences }).toEqual({
      code: 1,
      sentences: [`Port ${port} on 127.0.0.1 is in use by another program: set PORT to a free one.`],
    });
  });

  it("a taken port in production, as an entry of the log", async () => {
    const production = { NODE_ENV: "production", HOST: "127.0.0.1", PUBLIC_URL: "https://records.example" };
    const { code, sentences } = await refusal({
      ...settings,
      ...production,
      DEMO_MODE: "false",
      ADMIN_PASSWORD: "Quiet-Harbour-2291",
      PORT: String(port),
    });
    expect([code, sentences.map((line) => JSON.parse(line))]).toEqual([
      1,
      [
        {
          level: "fatal",
          time: expect.any(String),
          msg: `Port ${port} on 127.0.0.1 is in use by another program: set PORT to a free one.`,
        },
      ],
    ]);
  });

  it("a taken port for probes", async () => {
    const { code, sentences } = await refusal({ ...settings, HEALTH_PORT: String(port) });
    expect({ code, sentences }).toEqual({
      code: 1,
      sentences: [`HEALTH_PORT ${port} on 127.0.0.1 cannot be used (EADDRINUSE).`],
    });
  });

  it("an address of another machine", async () => {
    const { code, sentences } = await refusal({ ...settings, HOST: "192.0.2.1" });
    expect({ code, sentences }).toEqual({
      code: 1,
      sentences: ["HOST 192.0.2.1 is no address of this machine."],
    });
  });
});

describe("settings", () => {
  it("an unknown name in SERVICES", async () => {
    const { code, sentences } = await refusal({ ...settings, SERVICES: "users,nonsense" });
    expect(code).toBe(1);
    expect(sentences).toEqual([
      expect.stringMatching(/^SERVICES names nonsense; there are api-gateway, .+\.$/),
    ]);
  });

  it("several faults are all named, one sentence a line", async () => {
    const { code, sentences } = await refusal({
      ...settings,
      PORT: "http",
      LOG_LEVEL: "loud",
      DATABASE_URL: "mysql://x",
      JWT_SECRET: "short",
    });
    expect(code).toBe(1);
    expect(sentences.map((sentence) => sentence.split(" ")[0]).sort()).toEqual([
      "DATABASE_URL",
      "JWT_SECRET",
      "LOG_LEVEL",
      "PORT",
    ]);
    expect(sentences.join()).not.toContain("short,");
  });

  it("production without secrets", async () => {
    const dataDir = join(folder, "production");
    const { code, sentences } = await refusal({ NODE_ENV: "production", DATA_DIR: dataDir });
    expect(code).toBe(1);
    expect(sentences).toHaveLength(3);
    const entries = sentences.map((line) => JSON.parse(line));
    expect(entries).toEqual(
      sentences.map(() => ({ level: "fatal", time: expect.any(String), msg: expect.any(String) })),
    );
    for (const name of ["JWT_SECRET", "BOOT_SECRET", "ADMIN_PASSWORD"]) {
      expect(entries.filter(({ msg }) => msg.startsWith(name))).toHaveLength(1);
    }
    expect(await readdir(folder)).not.toContain("production");
  });

  it("published secrets where several processes share them", async () => {
    const { code, sentences } = await refusal({
      ...settings,
      NATS_URL: "nats://127.0.0.1:1",
      JWT_SECRET: "change-me-change-me-change-me-change-me",
    });
    expect({ code, sentences }).toEqual({
      code: 1,
      sentences: ["JWT_SECRET is a placeholder or a demo value."],
    });
  });
});

describe("folders", () => {
  it("a file where the data folder should be", async () => {
    const file = join(root, "package.json");
    const { code, sentences } = await refusal({ DATA_DIR: file, PORT: "0" });
    expect({ code, sentences }).toEqual({ code: 1, sentences: [`${file} is a file, not a folder.`] });
  });

  // Root writes everywhere, so as root the service is run by an account that does not.
  it("a folder that may not be written", async () => {
    const closed = join(folder, "closed");
    await mkdir(closed, { mode: 0o555 });
    const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const checkout = join(folder, "checkout");
    await chmod(folder, 0o755);
    await copyCheckout(checkout);
    const node = join(checkout, "node_modules", relative(join(root, "node_modules"), process.execPath));
    const child = spawn(node, ["host/start.ts"], {
      cwd: checkout,
      env: { DATA_DIR: join(closed, "data"), PORT: "0" },
      stdio: ["ignore", "ignore", "pipe"],
      ...identity,
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(stderr).toBe(`${join(closed, "data")} cannot be used as the data folder: permission denied.\n`);
    expect(code).toBe(1);
  });
});

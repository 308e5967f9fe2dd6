// The embedded server in ordinary life: what it offers, what it keeps to itself, and how it ends.

import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { commandLines } from "../../../support/processes.ts";
import { access, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../../host/embedded/postgres.ts";
import { isRunning, Scene, startError, until } from "./scene.ts";

const password = "p@ss/w:rd %?#'";
const scene = new Scene();
const lines: string[] = [];
let dataDir: string;
let server: EmbeddedPostgres | undefined;

const start = () => startEmbeddedPostgres({ dataDir, password, log: (line) => lines.push(line) });

async function query(text: string, on = server?.url("postgres")): Promise<unknown[]> {
  const client = new pg.Client(on);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  dataDir = await scene.folder();
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
});
afterAll(() => scene.clear());

describe("a running server", () => {
  it("has the settings the service relies on", async () => {
    server = await start();
    const names = ["listen_addresses", "fsync", "synchronous_commit", "jit", "TimeZone", "max_connections"];
    const rows = await query(
      `SELECT setting FROM unnest('{${names.join()}}'::text[]) n(name), current_setting(n.name) setting`,
    );
    expect(rows.map((row) => Object.values(row ?? {})[0])).toEqual(["", "on", "on", "off", "UTC", "60"]);
    const locale =
      "SELECT pg_encoding_to_char(encoding) AS encoding, datlocprovider, datlocale FROM pg_database";
    expect(await query(`${locale} WHERE datname = 'postgres'`)).toEqual([
      { encoding: "UTF8", datlocprovider: "b", datlocale: "C.UTF-8" },
    ]);
    const hba = "SELECT DISTINCT auth_method FROM pg_hba_file_rules";
    expect(await query(hba)).toEqual([{ auth_method: "scram-sha-256" }]);
  });

  it("keeps its files under the data folder and its socket in a folder closed to others", async () => {
    server = await start();
    const [file] = await query("SELECT pg_relation_filepath('pg_class') AS path");
    await access(join(dataDir, "postgres", String(Object.values(file ?? {})[0])));
    expect(await readdir(dataDir)).toEqual(["postgres"]);
    expect((await stat(join(dataDir, "postgres"))).mode & 0o777).toBe(0o700);
    expect((await stat(server.host)).mode & 0o777).toBe(0o700);
    expect(server.host.length).toBeLessThanOrEqual(90);
    expect(await readdir(server.host)).not.toContain("password");
  });

  it("refuses a wrong password", async () => {
    server = await start();
    const login = {
      host: server.host,
      port: server.port,
      user: server.user,
      password: "wrong",
      database: "postgres",
    };
    const client = new pg.Client(login);
    await expect(client.connect()).rejects.toMatchObject({ code: "28P01" });
  });

  it("writes no statement and no value to the log", async () => {
    server = await start();
    lines.length = 0;
    await expect(query("SELECT 'canary-1'::int")).rejects.toThrow("canary-1");
    await expect(
      query("DO $$ BEGIN RAISE WARNING 'canary-2'; RAISE EXCEPTION 'canary-3'; END $$"),
    ).rejects.toThrow();
    await expect(query("SELECT canary_4")).rejects.toThrow();
    await server.stop();
    expect(lines.join("\n")).toContain("database system is shut down");
    expect(lines.join("\n")).not.toContain("canary");
  });

  it("keeps the password off every command line", async () => {
    server = await start();
    const lines = await commandLines();
    expect(lines.filter((line) => line.includes("postgres")).length).toBeGreaterThan(0);
    expect(lines.join("\n")).not.toContain(password);
  });
});

describe("the end of a server", () => {
  it("leaves no process and no socket folder, and may be asked for twice", async () => {
    server = await start();
    const client = new pg.Client(server.url("postgres"));
    client.on("error", () => undefined);
    await client.connect();
    const [row] = (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows;
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(await isRunning(server.processId)).toBe(false);
    await until(async () => !(await isRunning(row?.pid ?? 0)));
    await expect(access(server.host)).rejects.toThrow("ENOENT");
    await client.end();
  });

  it("is told only when nobody asked for it", async () => {
    server = await start();
    const reasons: string[] = [];
    server.onExit((reason) => reasons.push(reason));
    await server.stop();
    server = await start();
    server.onExit((reason) => reasons.push(reason));
    process.kill(server.processId, "SIGKILL");
    await until(() => reasons.length > 0);
    expect(reasons).toEqual(["The embedded PostgreSQL ended by itself (ended by SIGKILL)."]);
    await server.stop();
  });

  it("by a kill of the server alone loses nothing committed, without repair", async () => {
    server = await start();
    await query("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS id");
    process.kill(server.processId, "SIGKILL");
    // At once, while its children still hold its memory.
    server = await start();
    expect(await query("SELECT count(*)::int AS kept FROM kept")).toEqual([{ kept: 1000 }]);
  });
});

describe("a later start", () => {
  it("waits for what a killed server left running, as that still writes to its memory", async () => {
    server = await start();
    const client = new pg.Client(server.url("postgres"));
    client.on("error", () => undefined);
    await client.connect();
    const [row] = (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows;
    const backend = row?.pid ?? 0;
    process.kill(backend, "SIGSTOP");
    process.kill(server.processId, "SIGKILL");
    lines.length = 0;
    const next = start();
    await until(() => lines.some((line) => line.includes("pre-existing shared memory block")));
    process.kill(backend, "SIGCONT");
    server = await next;
    expect(await isRunning(backend)).toBe(false);
    await client.end().catch(() => undefined);
  });

  it("is ready in under two seconds", async () => {
    const before = performance.now();
    server = await start();
    expect(performance.now() - before).toBeLessThan(2_000);
  });

  it("is refused with another password", async () => {
    const attempt = startEmbeddedPostgres({ dataDir, password: "another", log: () => undefined });
    await expect(attempt).rejects.toMatchObject(
      startError("The embedded PostgreSQL refuses the password: its folder was made with another one."),
    );
  });
});

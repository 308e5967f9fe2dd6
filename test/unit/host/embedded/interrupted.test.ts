// What a kill -9 of the whole service leaves behind, and what the next start makes of it.

import { afterEach, describe, expect, it } from "@jest/globals";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { serverAccount } from "../../../../host/embedded/account.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../../host/embedded/postgres.ts";
import { clusterName } from "../../../../host/embedded/socket-folder.ts";
import { stopLeftover } from "../../../../host/embedded/leftover.ts";
import { isRunning, kill, Scene, until } from "./scene.ts";

const password = "secret";
const scene = new Scene();
let server: EmbeddedPostgres | undefined;

afterEach(async () => {
  await server?.stop();
  server = undefined;
  await scene.clear();
});

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  server = await startEmbeddedPostgres({ dataDir, password, log: () => undefined });
  return server;
}

async function keptRows(): Promise<unknown> {
  const client = new pg.Client(server?.url("postgres"));
  await client.connect();
  try {
    return (await client.query("SELECT count(*)::int AS kept FROM kept")).rows;
  } finally {
    await client.end();
  }
}

describe("after a kill -9", () => {
  it("the next start stops the server left behind and finds every committed row", async () => {
    const dataDir = await scene.folder();
    const child = scene.child(["start", dataDir, password]);
    const postmaster = Number((await child.said)["postmaster"]);
    await kill(child.process);
    expect(await isRunning(postmaster)).toBe(true);
    await start(dataDir);
    expect(await isRunning(postmaster)).toBe(false);
    expect(await keptRows()).toEqual([{ kept: 100 }]);
  });

  it("of service and server together the next start recovers every committed row", async () => {
    const dataDir = await scene.folder();
    const child = scene.child(["start", dataDir, password]);
    const postmaster = Number((await child.said)["postmaster"]);
    await kill(child.process);
    process.kill(postmaster, "SIGKILL");
    await start(dataDir);
    expect(await keptRows()).toEqual([{ kept: 100 }]);
  });

  it("in the middle of the first start the next one begins anew and sweeps up", async () => {
    const dataDir = await scene.folder();
    const child = scene.child(["start", dataDir, password]);
    // The folder with a catalog in it: initdb is at work and far from done.
    await until(async () => {
      const name = (await readdir(dataDir)).find((entry) => entry.startsWith("postgres.unfinished-"));
      return name !== undefined && (await readdir(join(dataDir, name))).includes("global");
    });
    await kill(child.process);
    await expect(access(join(dataDir, "postgres"))).rejects.toThrow("ENOENT");
    await start(dataDir);
    expect((await readdir(dataDir)).filter((name) => name.startsWith("postgres"))).toEqual(["postgres"]);
  });
});

describe("a pid file of an earlier run", () => {
  it("does not cost an alien process that has its pid now", async () => {
    const dataDir = await scene.folder();
    const folder = join(dataDir, "postgres");
    await (await start(dataDir)).stop();
    // Of the server's own account: there PostgreSQL itself would take it for a running server and refuse.
    const account = await serverAccount(folder);
    const alien = scene.spawn("sleep", ["60"], account ? { identity: account } : {});
    await writeFile(join(folder, "postmaster.pid"), `${alien.pid}\n${folder}\n1\n5432\n`, { mode: 0o600 });
    await start(dataDir);
    expect(await isRunning(alien.pid ?? 0)).toBe(true);
  });

  it("does not cost the server of another data folder that has its pid now", async () => {
    const { processId } = await start(await scene.folder());
    const dataDir = await scene.folder();
    const folder = join(dataDir, "postgres");
    await mkdir(folder);
    await writeFile(join(folder, "postmaster.pid"), `${processId}\n`);
    await stopLeftover(folder, clusterName(dataDir), () => undefined);
    expect(await readdir(folder)).toEqual([]);
    expect(await isRunning(processId)).toBe(true);
  });

  it.each(["", "\n", "x", "0\n", "1\n", "-1\n", "99999999999\n"])(
    "with %j in it is no obstacle and no target",
    async (text) => {
      const dataDir = await scene.folder();
      const folder = join(dataDir, "postgres");
      await mkdir(folder);
      await writeFile(join(folder, "postmaster.pid"), text);
      await stopLeftover(folder, clusterName(dataDir), () => undefined);
      const left = await readFile(join(folder, "postmaster.pid"), "utf8").catch(() => "");
      // What names a dead process is PostgreSQL's own to read.
      expect(["", "99999999999\n"]).toContain(left);
    },
  );
});

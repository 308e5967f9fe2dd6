// The data folder: who gets it, who is told to stay out, and what a kill leaves behind.

import { afterEach, describe, expect, it } from "@jest/globals";
import { chmod, chown, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { canReach } from "../../../../host/embedded/account.ts";
import { openDataDirectory } from "../../../../host/embedded/data-directory.ts";
import { StartError } from "../../../../services/shared/start-error.ts";
import { isRoot, kill, nobody, Scene, startError } from "./scene.ts";

const scene = new Scene();
afterEach(() => scene.clear());

describe("opening the data folder", () => {
  it("makes a missing folder for its owner only and answers the absolute path", async () => {
    const path = join(await scene.folder(), "a", "b");
    const directory = await openDataDirectory(relative(process.cwd(), path));
    expect(directory.path).toBe(path);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    await directory.release();
  });

  it("can be opened again after its release, and released twice", async () => {
    const path = await scene.folder();
    const first = await openDataDirectory(path);
    await first.release();
    await first.release();
    const second = await openDataDirectory(path);
    await first.release();
    await expect(openDataDirectory(path)).rejects.toThrow("is in use by another instance");
    await second.release();
    expect(await readdir(path)).toEqual(["instance.lock"]);
  });

  it("refuses a second opening in the same process", async () => {
    const path = await scene.folder();
    const directory = await openDataDirectory(path);
    const refusal = `${path} is in use by another instance (process ${process.pid}).`;
    await expect(openDataDirectory(path)).rejects.toMatchObject(startError(refusal));
    await directory.release();
  });

  it("refuses a folder another process holds and names that process", async () => {
    const path = await scene.folder();
    const holder = scene.child(["lock", path]);
    expect(await holder.said).toEqual({ path });
    const refusal = `${path} is in use by another instance (process ${holder.process.pid}).`;
    await expect(openDataDirectory(path)).rejects.toMatchObject(startError(refusal));
  });

  it("takes the folder over from a killed process, whatever its pid file says", async () => {
    const path = await scene.folder();
    const holder = scene.child(["lock", path]);
    await holder.said;
    await kill(holder.process);
    // The pid in use again, by a process that lives: ours.
    await writeFile(join(path, "instance.pid"), `${process.pid}\n`);
    await (await openDataDirectory(path)).release();
  });

  it.each(["fresh", "left by a killed process"])(
    "lets one of two simultaneous starts win a folder %s",
    async (kind) => {
      const path = await scene.folder();
      if (kind !== "fresh") {
        const holder = scene.child(["lock", path]);
        await holder.said;
        await kill(holder.process);
      }
      const answers = await Promise.all([1, 2, 3].map(() => scene.child(["lock", path]).said));
      expect(answers.filter((answer) => answer["path"] === path)).toHaveLength(1);
      const refused = answers.filter((answer) => answer["name"] === "StartError");
      expect(refused).toHaveLength(2);
      for (const { message } of refused) expect(message).toContain("is in use by another instance");
    },
  );
});

describe("a folder that cannot be the data folder", () => {
  it("is a file", async () => {
    const path = join(await scene.folder(), "file");
    await writeFile(path, "");
    await expect(openDataDirectory(path)).rejects.toMatchObject(
      startError(`${path} is a file, not a folder.`),
    );
  });

  it("lies below a file", async () => {
    const file = join(await scene.folder(), "file");
    await writeFile(file, "");
    const path = join(file, "below");
    const refusal = `${path} cannot be used as the data folder: a file stands where a folder is needed.`;
    await expect(openDataDirectory(path)).rejects.toMatchObject(startError(refusal));
  });

  // Asked for such a folder with `recursive`, Node 20 to 24 never come back.
  const onLinux = existsSync("/proc/self") ? it : it.skip;
  onLinux.each(["/proc/records", "/proc/records/below"])(
    "lies where no folder can be made: %s",
    async (path) => {
      await expect(openDataDirectory(path)).rejects.toMatchObject(
        startError(`${path} cannot be used as the data folder: it does not exist.`),
      );
    },
  );

  it("holds a lock file that is none", async () => {
    const path = await scene.folder();
    await writeFile(join(path, "instance.lock"), "x".repeat(4096));
    await expect(openDataDirectory(path)).rejects.toThrow(
      "instance.lock is not the lock file of this service",
    );
  });

  it("holds a folder in place of the lock file", async () => {
    const path = await scene.folder();
    await mkdir(join(path, "instance.lock"));
    await expect(openDataDirectory(path)).rejects.toThrow(StartError);
  });

  it.each([
    ["the folder itself", ""],
    ["a folder below it", "below"],
  ])("is not writable: %s", async (_what, below) => {
    // Root writes everywhere, so root asks an unprivileged child.
    const identity = isRoot ? nobody : undefined;
    if (identity && !(await canReach(process.execPath, { name: "nobody", ...identity }))) {
      console.warn("skipped: this checkout is closed to other users");
      return;
    }
    const folder = await scene.folder();
    if (identity) await chown(folder, identity.uid, identity.gid);
    await chmod(folder, 0o500);
    const path = join(folder, below);
    const { said } = scene.child(["lock", path], identity ? { identity } : {});
    expect(await said).toEqual({
      name: "StartError",
      message: `${path} cannot be used as the data folder: permission denied.`,
    });
    await chmod(folder, 0o700);
  });
});

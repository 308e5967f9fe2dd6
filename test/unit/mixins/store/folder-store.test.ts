// The store as a folder: what every store promises, and what a folder has of its own.
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { FolderStore } from "../../../../mixins/store/folder-store.ts";
import { keepsThePromises, keysOf } from "./store-promises.ts";

const never = () => new AbortController().signal;

describe("a folder as a store", () => {
  keepsThePromises(async () => {
    const folder = await mkdtemp(join(tmpdir(), "records-store-"));
    return {
      store: new FolderStore(join(folder, "deep", "backups")),
      stop: () => rm(folder, { recursive: true, force: true }),
    };
  });
});

describe("of a folder alone", () => {
  let folder: string;
  let store: FolderStore;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "records-store-"));
    store = new FolderStore(folder);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("nobody but its owner reads what is written", async () => {
    await store.put("private/data", Readable.from([Buffer.from("x")]), never());
    expect((await stat(join(folder, "private/data"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "private"))).mode & 0o777).toBe(0o700);
  });

  it("leftovers of writers that died go by their age, and the young ones stay", async () => {
    const unfinished = join(folder, ".unfinished");
    await mkdir(unfinished, { recursive: true });
    await writeFile(join(unfinished, "old"), "x");
    await writeFile(join(unfinished, "young"), "x");
    const anHourAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(unfinished, "old"), anHourAgo, anHourAgo);
    expect(await keysOf(store, "")).not.toContain(".unfinished/old");
    expect(await store.removeLeftovers(new Date(Date.now() - 1_800_000))).toBe(1);
    expect(await readdir(unfinished)).toEqual(["young"]);
  });

  it("a probe of a folder that cannot be made fails", async () => {
    await writeFile(join(folder, "file"), "x");
    await expect(new FolderStore(join(folder, "file", "in")).probe()).rejects.toMatchObject({
      name: "StoreError",
    });
  });
});

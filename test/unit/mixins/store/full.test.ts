// A store that is full, on a disk of a few megabytes that only root can make.
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "@jest/globals";
import { FolderStore } from "../../../../mixins/store/folder-store.ts";
import { S3Store } from "../../../../mixins/store/s3-store.ts";
import type { Store } from "../../../../mixins/store/store.ts";
import { program, startS3 } from "../../../support/s3.ts";
import { keysOf } from "./store-promises.ts";

const never = () => new AbortController().signal;
const mounted: string[] = [];

/** @returns undefined where this account may not mount */
function smallDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "records-full-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=30m", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  mounted.push(folder);
  return folder;
}

async function fills(store: Store): Promise<void> {
  const kept = randomBytes(1_000_000);
  await store.put("kept/data", Readable.from([kept]), never());
  const body = Readable.from(
    (function* () {
      for (let given = 0; given < 60; given++) yield randomBytes(1_000_000);
    })(),
    { objectMode: false },
  );
  await expect(store.put("large/data", body, never())).rejects.toMatchObject({
    name: "StoreError",
    fault: "full",
  });
  expect(body.destroyed).toBe(true);
  expect(await keysOf(store, "")).toEqual(["kept/data"]);
  expect((await buffer(await store.get("kept/data", never()))).equals(kept)).toBe(true);
  expect(await store.removeLeftovers(new Date())).toBe(0);
  // Room again, without anybody's help.
  await store.put("small/data", Readable.from([kept, kept]), never());
}

const disks = [smallDisk(), smallDisk()] as const;
afterAll(async () => {
  for (const folder of mounted) {
    execFileSync("umount", ["--lazy", folder]);
    await rm(folder, { recursive: true });
  }
});

describe(disks[0] === undefined ? "a full disk (skipped: only root can mount one)" : "a full disk", () => {
  const [first, second] = disks;
  const ofRoot = first === undefined ? it.skip : it;
  ofRoot("beneath a folder", async () => {
    const folder = join(first ?? "", "store");
    await fills(new FolderStore(folder));
    expect(await readdir(join(folder, ".unfinished"))).toEqual([]);
  });
  (second === undefined || program === undefined ? it.skip : it)("beneath an S3 server", async () => {
    const server = await startS3({ folder: join(second ?? "", "buckets") });
    const store = new S3Store(server.options("full"));
    await fills(store);
    store.close();
    await server.stop();
  });
});

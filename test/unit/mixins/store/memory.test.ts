// What a large object costs in memory: as much as a small one. In a process of its own, as only its peak is measured.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "@jest/globals";
import { describeWithS3 } from "../../../support/describe-with-s3.ts";
import { startS3 } from "../../../support/s3.ts";

const megabytes = 400;
/** A part in memory and one on its way are 16 MiB and are there after the warm-up; an object that is held is 400 MB. */
const grownMax = 64_000_000;

async function move(kind: string, place: string): Promise<{ bytes: number; grown: number }> {
  const script = resolve(import.meta.dirname, "move-bytes.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [script, kind, place, String(megabytes)], {
    timeout: 100_000,
  });
  return JSON.parse(stdout);
}

it("a folder writes and reads 400 MB at flat memory", async () => {
  const folder = await mkdtemp(join(tmpdir(), "records-store-"));
  const { bytes, grown } = await move("folder", folder);
  expect(bytes).toBe(megabytes * 1e6);
  expect(grown).toBeLessThan(grownMax);
  await rm(folder, { recursive: true });
});

describeWithS3("by S3", () => {
  it("a bucket writes and reads 400 MB at flat memory", async () => {
    const server = await startS3();
    const { bytes, grown } = await move("s3", JSON.stringify(server.options("memory")));
    expect(bytes).toBe(megabytes * 1e6);
    expect(grown).toBeLessThan(grownMax);
    await server.stop();
  });
});

// Lines of the log are handed on by the hundred: none may be lost, doubled or torn on the way, and none waits for others.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { createLog } from "../../services/shared/log.ts";
import { eventually } from "../support/service.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-log-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const linesOf = async (file: string): Promise<{ n: number }[]> =>
  (await readFile(file, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

it("ten thousand lines arrive whole and in order", async () => {
  const file = join(folder, "many");
  const { log } = createLog("info", file);
  for (let n = 0; n < 10_000; n++) log.info({ n, text: "ä".repeat(n % 300) }, "line");
  await eventually(async () => (await readFile(file, "utf8")).includes('"n":9999,'));
  expect((await linesOf(file)).map(({ n }) => n)).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
});

it("a single line is written without being flushed, and at once when it is", async () => {
  const file = join(folder, "single");
  const { log, flush } = createLog("info", file);
  log.info({ n: 1, password: "canary" }, "line");
  await eventually(async () => (await linesOf(file).catch(() => [])).length === 1);
  expect(await readFile(file, "utf8")).not.toContain("canary");
  log.info({ n: 2 }, "line");
  flush();
  expect((await linesOf(file)).map(({ n }) => n)).toEqual([1, 2]);
});

// What a test started ends with it, whatever happens: real runs of Jest, of which one process is killed.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { allGone } from "../processes.ts";
import { eventually } from "../service.ts";

const root = join(import.meta.dirname, "../../..");
let folder: string;
let runs = 0;
let run: ChildProcess | undefined;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-test-left-"));
});
afterEach(() => {
  run?.kill("SIGKILL");
  run = undefined;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Held {
  /** The process that runs the test file. */
  worker: number;
  pids: number[];
  /** Of its database. */
  folders: string[];
}

/** Resolves when nothing of it runs, and its database is no longer there. */
async function allEnded({ worker, pids, folders }: Held): Promise<void> {
  await allGone([worker, ...pids]);
  await eventually(async () => !folders.some((each) => existsSync(each)));
}

/** A run of Jest over one file, in its own process or in a worker; `held` is what that file has said. */
function start(name: string, { inBand = false, isDeaf = false } = {}) {
  const file = join(folder, `${++runs}.json`);
  const jest = [
    "node_modules/jest/bin/jest.js",
    "--config=test/support/runner/left-running/jest.config.js",
    `--testMatch=<rootDir>/test/support/runner/left-running/${name}.ts`,
    ...(inBand ? ["--runInBand"] : []),
  ];
  const child = spawn(
    process.execPath,
    ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning", ...jest],
    {
      cwd: root,
      env: {
        PATH: process.env["PATH"],
        HOME: process.env["HOME"],
        HOLDS_FILE: file,
        HOLDS_DEAF: String(isDeaf),
      },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  run = child;
  let output = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const held = (): Promise<Held> =>
    eventually(async () => {
      if (child.exitCode !== null) throw new Error(`the run ended too soon:\n${output}`);
      const text = await readFile(file, "utf8").catch(() => "");
      return text !== "" && JSON.parse(text);
    });
  return { child, held, ended, output: () => output };
}

describe("nothing of a test goes on", () => {
  it.each(["SIGKILL", "SIGINT"] as const)("when the whole run gets %s", async (signal) => {
    const { child, held } = start("holds");
    const all = await held();
    expect(all.worker).not.toBe(child.pid);
    child.kill(signal);
    await allEnded(all);
    await allGone([child.pid ?? 0]);
  });
  it("when the one process of a run over one file is killed", async () => {
    const { child, held } = start("holds", { inBand: true, isDeaf: true });
    const all = await held();
    expect(all.worker).toBe(child.pid);
    child.kill("SIGKILL");
    await allEnded(all);
  });
  it("when a worker is killed, and the run fails", async () => {
    const { held, ended, output } = start("holds");
    const all = await held();
    process.kill(all.worker, "SIGKILL");
    await allEnded(all);
    expect([await ended, output()]).toEqual([1, expect.stringContaining("holds.ts")]);
  });
});

it("a file that leaves a process running fails, and the process is ended", async () => {
  const { ended, output } = start("forgets");
  expect(await ended).toBe(1);
  expect(output()).toMatch(/left running:\n.*forgotten/);
  const { pids } = JSON.parse(await readFile(join(folder, `${runs}.json`), "utf8"));
  await allGone(pids);
});

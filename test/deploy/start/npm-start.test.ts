// `npm start` itself, in a copy of the checkout under a folder that only its owner can enter, with the machine's own
// npm and node on PATH.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyCheckout, systemPath } from "../../support/checkout.ts";
import { descendantsOf } from "../../support/descendants.ts";
import { allGone } from "../../support/processes.ts";
import { callApi, eventually } from "../../support/service.ts";

let parent = "";
const children: ChildProcess[] = [];

beforeAll(async () => {
  // mkdtemp makes it with mode 0700.
  parent = await mkdtemp(join(tmpdir(), "records-npm-"));
  await copyCheckout(join(parent, "checkout"));
});
afterAll(async () => {
  for (const child of children) child.kill("SIGTERM");
  await rm(parent, { recursive: true, force: true, maxRetries: 20 });
});

function npmStart(): { child: ChildProcess; output: () => string; exited: Promise<unknown> } {
  const child = spawn("npm", ["start"], {
    cwd: join(parent, "checkout"),
    env: { PATH: systemPath(), HOME: parent, PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
  }
  return { child, output: () => output, exited: new Promise((resolve) => child.once("close", resolve)) };
}

describe("npm start", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "serves, and %s sent to npm stops everything in order",
    async (signal) => {
      const { child, output, exited } = npmStart();
      const url = await eventually(
        async () => /API {3}(http:\/\/\S+)\/api/.exec(output())?.[1] ?? (child.exitCode !== null && output()),
      );
      expect(url).toMatch(/^http:/);
      const { status, body } = await callApi(url, "GET", "/api/auth/tenants");
      expect({ status, body }).toMatchObject({ status: 200, body: [{ subdomain: "demo" }] });
      const pids = await descendantsOf(child.pid ?? 0);
      expect(pids.length).toBeGreaterThan(1);
      child.kill(signal);
      await exited;
      await allGone(pids);
      expect(output()).not.toMatch(/error/i);
    },
  );
});

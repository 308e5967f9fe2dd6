// The demo's published password opens nothing where other machines reach the service.
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mailTo, subjects, tokenIn } from "../../support/mailbox.ts";
import { callApi, demoPassword, people, type RunningProcess, runProcess } from "../../support/service.ts";

// Several starts, each with a database of its own to bring up.
jest.setTimeout(120_000);

let folder = "";
const started: RunningProcess[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "records-demo-"));
});
afterEach(async () => {
  for (const running of started.splice(0)) await running.stop();
});
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));

interface Started {
  running: RunningProcess;
  url: string;
  /** What the terminal says of each demo sign-in. */
  printed: string[];
}

async function start(settings: Record<string, string> = {}): Promise<Started> {
  const running = runProcess({
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    RATE_LOGIN_PER_MINUTE: "1000",
    ...settings,
  });
  started.push(running);
  const [, port = ""] = await running.printed(/API {3}http:\/\/[^:]+:(\d+)\/api/);
  await running.printed(/not for real patients/);
  const printed = [...running.output().matchAll(/password (\S+)$/gm)].map(([, password]) => password ?? "");
  return { running, url: `http://127.0.0.1:${port}`, printed };
}

async function statusesOf(url: string, password: string): Promise<number[]> {
  const statuses: number[] = [];
  for (const [email, subdomain] of Object.values(people)) {
    const body = { email, password, subdomain };
    statuses.push((await callApi(url, "POST", "/api/auth/login", { body })).status);
  }
  return statuses;
}
const all = (status: number) => Object.keys(people).map(() => status);
const tokenOf = async (url: string, password: string): Promise<string> => {
  const body = { email: "nurse@demo.example", password, subdomain: "demo" };
  return (await callApi(url, "POST", "/api/auth/login", { body })).body.access_token;
};

describe("the demo sign-ins", () => {
  let own = "";
  let token = "";

  it("have the published password on loopback", async () => {
    const { url, printed } = await start();
    expect(new Set(printed)).toEqual(new Set([demoPassword]));
    expect(await statusesOf(url, demoPassword)).toEqual(all(200));
    token = await tokenOf(url, demoPassword);
    expect(await readFile(join(folder, "data", "secrets.json"), "utf8")).not.toContain('"demo"');
  });

  it("get one of their own where HOST is any address, also those that were made before", async () => {
    const { url, printed } = await start({ HOST: "0.0.0.0" });
    own = printed[0] ?? "";
    expect(printed).toEqual(all(0).map(() => own));
    expect(own).toMatch(/^[\w-]{20}$/);
    expect(await statusesOf(url, demoPassword)).toEqual(all(401));
    expect(await statusesOf(url, own)).toEqual(all(200));
    // What was opened with the published one has ended.
    expect((await callApi(url, "GET", "/api/users/me", { token })).status).toBe(401);
    const { body } = await callApi(url, "GET", "/openapi.json");
    expect(JSON.stringify(body)).not.toContain(demoPassword);
  });

  it("keep it at the next start", async () => {
    const { url, printed } = await start({ HOST: "0.0.0.0" });
    expect(new Set(printed)).toEqual(new Set([own]));
    expect(await statusesOf(url, own)).toEqual(all(200));
  });

  it("get the published one back on loopback", async () => {
    const { url, printed } = await start();
    expect(new Set(printed)).toEqual(new Set([demoPassword]));
    expect(await statusesOf(url, demoPassword)).toEqual(all(200));
    expect(await statusesOf(url, own)).toEqual(all(401));
  });

  it("are left alone where somebody chose a password", async () => {
    const chosen = "Chosen-By-The-Nurse-7";
    const email = "nurse@demo.example";
    const first = await start();
    const ask = { email, subdomain: "demo" };
    expect((await callApi(first.url, "POST", "/api/auth/request-reset", { body: ask })).status).toBe(202);
    const wrote = { settings: { DATA_DIR: join(folder, "data") } };
    const reset = { token: tokenIn(await mailTo(wrote, email, subjects.reset)), new_password: chosen };
    expect((await callApi(first.url, "POST", "/api/auth/reset-password", { body: reset })).status).toBe(200);
    await first.running.stop();
    const { url } = await start({ HOST: "0.0.0.0" });
    const nurse = Object.keys(people).indexOf("nurse");
    expect((await statusesOf(url, chosen))[nurse]).toBe(200);
    expect((await statusesOf(url, own))[nurse]).toBe(401);
  });

  it("get the operator's own where one is set, from then on", async () => {
    const { url, printed } = await start({ HOST: "0.0.0.0", DEMO_PASSWORD: "Quiet-Harbour-59" });
    expect(new Set(printed)).toEqual(new Set(["Quiet-Harbour-59"]));
    expect(await statusesOf(url, demoPassword)).toEqual(all(401));
    expect((await statusesOf(url, "Quiet-Harbour-59")).filter((status) => status !== 200)).toEqual([401]);
  });
});

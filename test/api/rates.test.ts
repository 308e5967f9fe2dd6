// Rates per address: 429 with Retry-After, shared by all gateways, and not to be got round by forged headers.
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  addressOf,
  type Answer,
  callApi,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../support/service.ts";

const rates = { RATE_LOGIN_PER_MINUTE: "5", RATE_REGISTER_PER_MINUTE: "3", RATE_MAIL_PER_MINUTE: "4" };

let service: TestService;
let second: RunningProcess;
let secondUrl: string;
beforeAll(async () => {
  service = await startService(rates);
  const folder = join(service.database.folder, "second");
  second = runProcess({ ...service.settings, DATA_DIR: folder });
  secondUrl = await addressOf(second);
});
afterAll(async () => {
  await second.stop();
  await service.stop();
});

let address = 0;
/** Headers with which a client would like to be somebody else. */
function forged(): Record<string, string> {
  const ip = `198.51.100.${++address}`;
  return { "x-forwarded-for": ip, "x-real-ip": ip, forwarded: `for=${ip}`, "cf-connecting-ip": ip };
}

let account = 0;
const bodies = {
  "/api/auth/login": () => ({ email: `a${++account}@x.example`, password: "wrong-one", subdomain: "demo" }),
  "/api/auth/register": () => ({
    email: `a${++account}@x.example`,
    password: "Well-Chosen-Secret-5",
    full_name: "Some One",
    role: "nurse",
    subdomain: "no-such-tenant",
  }),
  "/api/auth/request-reset": () => ({ email: `a${++account}@x.example`, subdomain: "demo" }),
  "/api/auth/resend-verification": () => ({ email: `a${++account}@x.example`, subdomain: "demo" }),
};

async function ask(url: string, path: keyof typeof bodies): Promise<Answer> {
  return callApi(url, "POST", path, { body: bodies[path](), headers: forged() });
}

function expectRefusal({ status, body, headers }: Answer): void {
  expect(status).toBe(429);
  expect(body).toEqual({ detail: expect.any(String), code: "too_many_requests" });
  expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(60);
}

describe("429", () => {
  it.each([
    ["/api/auth/login", 5, 401],
    ["/api/auth/register", 3, 404],
    ["/api/auth/request-reset", 4, 202],
  ] as const)("%s after %d, counted over both gateways", async (path, allowed, otherwise) => {
    for (let i = 0; i < allowed; i++) {
      expect((await ask(i % 2 === 0 ? service.url : secondUrl, path)).status).toBe(otherwise);
    }
    expectRefusal(await ask(service.url, path));
    expectRefusal(await ask(secondUrl, path));
  });

  it("both kinds of mail are one rate", async () => {
    expectRefusal(await ask(service.url, "/api/auth/resend-verification"));
  });

  it("of 30 sign-ins at once no more than the rate are looked at", async () => {
    await service.database.owner.query("delete from rate_limits");
    // The first gateway still remembers that it refused; the second one has not yet met this rate alone.
    const third = runProcess({ ...service.settings, DATA_DIR: join(service.database.folder, "third") });
    try {
      const url = await addressOf(third);
      const answers = await Promise.all(Array.from({ length: 30 }, () => ask(url, "/api/auth/login")));
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(25);
    } finally {
      await third.stop();
    }
  });

  it("a request that is wrong in itself says so first and takes nothing from the rate", async () => {
    const answer = await callApi(service.url, "POST", "/api/auth/login", { body: {} });
    expect(answer.status).toBe(422);
  });

  it("whoever is signed in goes on, and public listings too", async () => {
    for (const path of ["/api/auth/tenants", "/api/auth/departments?subdomain=demo"]) {
      expect((await service.call("GET", path)).status).toBe(200);
    }
  });
});

describe("behind a trusted proxy", () => {
  it("every client has a rate of its own, and what clients write themselves changes nothing", async () => {
    const settings = { ...service.settings, TRUST_PROXY: "127.0.0.1", ...rates };
    const behind = runProcess({ ...settings, DATA_DIR: join(service.database.folder, "behind") });
    try {
      const url = await addressOf(behind);
      const from = (forwarded: string) =>
        callApi(url, "POST", "/api/auth/login", {
          body: bodies["/api/auth/login"](),
          headers: { "x-forwarded-for": forwarded },
        });
      for (let i = 0; i < 5; i++) expect((await from(`10.9.9.${i}, 203.0.113.1`)).status).toBe(401);
      expectRefusal(await from("10.9.9.200, 203.0.113.1"));
      expect((await from("203.0.113.2")).status).toBe(401);
      for (let i = 0; i < 5; i++) expect((await from(`2001:db8:7:7::${i}`)).status).toBe(401);
      expectRefusal(await from("2001:db8:7:7:ffff::1"));
      expect((await from("2001:db8:7:8::1")).status).toBe(401);
    } finally {
      await behind.stop();
    }
  });
});

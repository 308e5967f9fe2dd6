// Texts that hurt readers, through the real interface: no request keeps the process from answering others. Judged by the
// CPU time that the service's process spends, which says the same on a busy machine.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type CallOptions, startService, type TestService } from "../support/service.ts";
import { paymentSettings } from "../support/notifications.ts";
import { cpuSecondsOf } from "../support/processes.ts";

/** An ordinary request takes milliseconds; each of these took 7 s and more. */
const cpuSecondsMax = 2;

let service: TestService;
let admin: string;
beforeAll(async () => {
  service = await startService(paymentSettings);
  admin = await service.signIn("admin");
});
afterAll(() => service.stop());

const hook = (url: string): [string, CallOptions] => [
  "/api/webhooks/register",
  { token: admin, body: { url, events: ["user.created"] } },
];
const login = (headers: Record<string, string>): [string, CallOptions] => [
  "/api/auth/login",
  { body: "{}", headers },
];
const wallet = (body: string): [string, CallOptions] => ["/webhooks/wallet-provider", { body }];
const wide = 15_000;

type Case = [name: string, ask: () => [path: string, options: CallOptions], status: number];
const cases: Case[] = [
  ["a webhook's URL full of colons", () => hook(`http:${":".repeat(700)}${"a".repeat(1300)}]`), 422],
  ["a webhook's URL full of slashes", () => hook(`http:${"/".repeat(2000)}:x]`), 422],
  [
    "an unsigned notification with one number of 250 000 digits",
    () => wallet(`{"id":1${"0".repeat(250_000)}1}`),
    400,
  ],
  [
    "an unsigned notification full of white space",
    () => wallet(`{"id":"x"${" ".repeat(250_000)},"b":1}`),
    400,
  ],
  ["a media type of 15 kB", () => login({ "content-type": `application/${"a.".repeat(wide / 2)}+jso` }), 422],
  ["a token of 15 kB", () => login({ authorization: `Bearer ${"a".repeat(wide)}!` }), 422],
  ["a chain of 15 kB of proxies", () => login({ "x-forwarded-for": "1,".repeat(wide / 2) }), 422],
];

describe("answered at once, as others are meanwhile", () => {
  it.each(cases)("%s", async (_name, ask, status) => {
    const pid = Number(service.process.child.pid);
    const before = await cpuSecondsOf(pid);
    const [path, options] = ask();
    const [hostile, other] = await Promise.all([
      service.call("POST", path, options),
      service.call("GET", "/api/users/me", { token: admin }),
    ]);
    expect([hostile.status, other.status]).toEqual([status, 200]);
    expect((await cpuSecondsOf(pid)) - before).toBeLessThan(cpuSecondsMax);
  });
});

// Mails that anyone may ask for: bounded by account and day, and no stranger takes the owner's turns or voids her links.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { mailsTo, mailTo, subjects, tokenIn } from "../support/mailbox.ts";
import { type Answer, demoPassword, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser, type Made, unique } from "../support/tenancy.ts";

let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService({ TRUST_PROXY: "127.0.0.1" });
  clinic = await makeClinic(service, await service.signIn("superadmin"), { registration: "open" });
});
afterAll(() => service.stop());

let owner: Made;
beforeEach(async () => {
  owner = await makeUser(service, clinic.token);
});

const home = "198.51.100.7";
const hotel = "192.0.2.77";
const stranger = (at: number) => `203.0.113.${at}`;
const post = (path: string, ip: string, body: object, more: Record<string, string> = {}): Promise<Answer> =>
  service.call("POST", `/api/auth/${path}`, { body, headers: { "x-forwarded-for": ip, ...more } });
const ask = (ip: string, more?: Record<string, string>, email = owner.email): Promise<Answer> =>
  post("request-reset", ip, { email, subdomain: clinic.subdomain }, more);
const signIn = (ip: string): Promise<Answer> =>
  post("login", ip, { email: owner.email, password: demoPassword, subdomain: clinic.subdomain });
const complete = (token: string): Promise<Answer> =>
  post("reset-password", hotel, { token, new_password: "Quite-Another-Secret-8" });

/** All wishes so far are worked off. */
const settled = () =>
  eventually(async () => {
    const sql = `select count(*)::integer as left from graphile_worker._private_jobs j
      join graphile_worker._private_tasks t on t.id = j.task_id where t.identifier like 'mail.%'`;
    return (await service.database.owner.query(sql)).rows[0].left === 0;
  });
const resets = async (email = owner.email) =>
  (await mailsTo(service, email)).filter(({ subject }) => subjects.reset.test(subject ?? ""));
/** As if the last wish had been more than a minute ago. */
const nextMinute = () => service.database.owner.query("delete from rate_limits where key like 'wish:%'");

describe("a stranger who asks for resets", () => {
  it("gets 202 from each new address, and the account three links at most", async () => {
    for (let at = 0; at < 5; at++) expect((await ask(stranger(at))).status).toBe(202);
    await settled();
    const mails = await resets();
    expect(mails).toHaveLength(3);
    const tokens = mails.map(tokenIn);
    const sql = "select kind, slot, known from mail_tokens where user_id = $1 order by slot";
    expect((await service.database.owner.query(sql, [owner.id])).rows).toEqual(
      [1, 2, 3].map((slot) => ({ kind: "reset_password", slot, known: false })),
    );
    // All of them are in her own mailbox: any will do.
    expect((await complete(tokens[0] ?? "")).status).toBe(200);
  });

  it("voids no link of the owner's, whether she asked before or after", async () => {
    await signIn(home);
    await ask(home);
    const first = tokenIn(await mailTo(service, owner.email, subjects.reset));
    for (let at = 0; at < 5; at++) await ask(stranger(at));
    await settled();
    await nextMinute();
    await ask(home);
    await settled();
    const mails = await resets();
    expect(mails).toHaveLength(4);
    expect((await complete(tokenIn(mails[3] as (typeof mails)[number]))).status).toBe(200);
    expect((await complete(first)).status).toBe(400);
    const other = await makeUser(service, clinic.token);
    owner = other;
    await signIn(home);
    await ask(home);
    const kept = tokenIn(await mailTo(service, owner.email, subjects.reset));
    for (let at = 10; at < 15; at++) await ask(stranger(at));
    await settled();
    expect((await complete(kept)).status).toBe(200);
  });

  it("has six mails a day to an account from wherever, silently; origins it knows have turns of their own", async () => {
    const device = (await signIn(home)).headers.get("x-device-id") ?? "";
    const spendLinks = () =>
      service.database.owner.query("delete from mail_tokens where user_id = $1", [owner.id]);
    for (let at = 0; at < 9; at++) {
      expect((await ask(stranger(at))).status).toBe(202);
      await settled();
      await spendLinks();
    }
    expect(await resets()).toHaveLength(6);
    for (const [at, from] of [() => ask(home), () => ask(hotel, { "x-device-id": device })].entries()) {
      expect((await from()).status).toBe(202);
      await settled();
      expect(await resets()).toHaveLength(7 + at);
    }
    expect((await ask(stranger(99))).status).toBe(202);
    await settled();
    expect(await resets()).toHaveLength(8);
  });

  it("is told of its own turns alone: one a minute and six a day of one origin", async () => {
    for (let wish = 0; wish < 6; wish++) {
      expect((await ask(stranger(1))).status).toBe(202);
      expect((await ask(stranger(20 + wish))).status).toBe(202);
      await nextMinute();
    }
    const spent = await ask(stranger(1));
    expect(spent).toMatchObject({ status: 429, body: { code: "too_many_requests" } });
    expect(Number(spent.headers.get("retry-after"))).toBeGreaterThan(80_000);
    expect((await ask(stranger(2))).status).toBe(202);
    const soon = await ask(stranger(2));
    expect(soon.status).toBe(429);
    expect(Number(soon.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    await settled();
  });

  it("learns nothing: known, unknown, spent and not are one answer", async () => {
    await signIn(home);
    for (let at = 0; at < 8; at++) await ask(stranger(at));
    const answers = [
      await ask(stranger(50)),
      await ask(home),
      await ask(stranger(51), {}, "nobody@people.example"),
      await ask(stranger(52), { "x-device-id": "x" }),
    ];
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    await settled();
  });
});

describe("the job of a reset mail", () => {
  it("makes one link however often it is tried", async () => {
    const sql = "select slot from mail_tokens where user_id = $1";
    const job = { subdomain: clinic.subdomain, email: owner.email, turn: "stranger", request: "one-wish" };
    for (let run = 0; run < 3; run++) {
      await service.database.owner.query("select graphile_worker.add_job('mail.reset_password', $1::json)", [
        JSON.stringify(job),
      ]);
      await mailTo(service, owner.email, subjects.reset, run);
    }
    expect((await service.database.owner.query(sql, [owner.id])).rows).toEqual([{ slot: 1 }]);
  });
});

describe("verification mails", () => {
  const register = (ip: string, email: string): Promise<Answer> =>
    post("register", ip, {
      email,
      password: demoPassword,
      full_name: "Nina Neumann",
      role: "nurse",
      subdomain: clinic.subdomain,
    });
  const resend = (ip: string, email: string): Promise<Answer> =>
    post("resend-verification", ip, { email, subdomain: clinic.subdomain });

  it("are six a day to an address for strangers, registrations included; who registered has turns beside", async () => {
    const email = `${unique("new")}@people.example`;
    expect((await register(home, email)).status).toBe(201);
    for (let at = 0; at < 8; at++) expect((await resend(stranger(at), email)).status).toBe(202);
    await settled();
    expect(await mailsTo(service, email)).toHaveLength(6);
    expect((await resend(home, email)).status).toBe(202);
    await settled();
    const mails = await mailsTo(service, email);
    expect(mails).toHaveLength(7);
    // Each registration sends one more mail: it has to wait too, and says so.
    const again = await register(stranger(60), email);
    expect(again).toMatchObject({ status: 429, body: { code: "too_many_requests" } });
    expect(Number(again.headers.get("retry-after"))).toBeGreaterThan(80_000);
  });
});

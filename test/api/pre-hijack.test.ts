// A stranger registers somebody's address with a password of his own and waits: what its owner's button then makes of it.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { traceOf } from "../support/journal.ts";
import { mailTo, subjects, tokenIn } from "../support/mailbox.ts";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeTenant, unique } from "../support/tenancy.ts";

let service: TestService;
let open: { id: number; subdomain: string };
beforeAll(async () => {
  service = await startService({ TRUST_PROXY: "127.0.0.1" });
  open = await makeTenant(service, await service.signIn("superadmin"), { registration: "open" });
});
afterAll(() => service.stop());

const stranger = "203.0.113.66";
const professor = "198.51.100.7";
const his = "His-Waiting-Password-1";
const hers = "Her-Very-Own-Secret-22";

const post = (
  path: string,
  ip: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  service.call("POST", `/api/auth/${path}`, { body, headers: { "x-forwarded-for": ip, ...headers } });
const verify = (
  token: string,
  ip: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<Answer> => post(`verify-email?token=${token}`, ip, body, headers);
const signIn = async (email: string, password: string, ip: string): Promise<number> =>
  (await post("login", ip, { email, password, subdomain: open.subdomain })).status;

async function registered(from = stranger): Promise<{ email: string; token: string; id: number }> {
  const email = `${unique("professor")}@people.example`;
  const body = {
    email,
    password: his,
    full_name: "Paula Professor",
    role: "doctor",
    subdomain: open.subdomain,
  };
  const answer = await post("register", from, body);
  expect(answer.status).toBe(201);
  return { email, token: tokenIn(await mailTo(service, email, subjects.verify)), id: answer.body.id };
}

describe("the owner of an address that a stranger registered", () => {
  it("reads in the mail who is said to have registered, and from where", async () => {
    const { email } = await registered();
    const { text, html } = await mailTo(service, email, subjects.verify);
    for (const words of ["Name: Paula Professor", "Role: doctor", `From the address: ${stranger}`]) {
      expect(text).toContain(words);
      expect(html).toContain(words);
    }
  });

  it("verifies by the bare call from elsewhere: the stranger's password is void, from wherever he comes", async () => {
    const { email, token, id } = await registered();
    const { entries, events } = await traceOf(service, async () => {
      const answer = await verify(token, professor);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        detail: expect.stringMatching(/is verified\..*void.*password reset/),
        email_verified: true,
      });
    });
    expect(entries).toMatchObject([
      { action: "user.verify_email", user_id: id, changes: { password: "voided" } },
    ]);
    expect(events).toMatchObject([{ payload: { fields: ["email_verified", "password"] } }]);
    for (const ip of [stranger, professor]) expect(await signIn(email, his, ip)).toBe(401);
    await post("request-reset", professor, { email, subdomain: open.subdomain });
    const reset = tokenIn(await mailTo(service, email, subjects.reset));
    await post("reset-password", professor, { token: reset, new_password: hers });
    expect(await signIn(email, hers, professor)).toBe(200);
  });

  it("chooses a password of her own with the link, and his is void", async () => {
    const { email, token } = await registered();
    const answer = await verify(token, professor, { new_password: hers });
    expect(answer).toMatchObject({ status: 200, body: { email_verified: true } });
    expect(await signIn(email, his, stranger)).toBe(401);
    expect(await signIn(email, hers, professor)).toBe(200);
  });

  it("does not know his password, so cannot confirm it; the link stays good meanwhile", async () => {
    const { email, token } = await registered();
    const answer = await verify(token, professor, { password: hers });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      { loc: ["body", "password"], msg: expect.stringMatching(/not the password/), type: "value_error" },
    ]);
    expect(await signIn(email, his, stranger)).toBe(403);
    expect((await verify(token, professor, { new_password: "short" })).status).toBe(422);
    expect((await verify(token, professor, { new_password: email })).status).toBe(422);
    expect((await verify(token, professor, { new_password: hers })).status).toBe(200);
    expect((await verify(token, professor, { new_password: hers })).status).toBe(400);
  });

  it("knows the address she verified from: she is let in while strangers guess", async () => {
    const { email, token, id } = await registered();
    await verify(token, professor, { new_password: hers });
    const strangers = [[Math.floor(Date.now() / 3_600_000), 100]];
    await service.database.owner.query(
      "insert into lockouts (tenant_id, account, state) values ($1, $2, $3)",
      [open.id, `user:${id}`, JSON.stringify({ strangers, origins: [] })],
    );
    expect(await signIn(email, hers, stranger)).toBe(401);
    expect(await signIn(email, hers, professor)).toBe(200);
  });
});

describe("who registered by oneself", () => {
  it("confirms from elsewhere with the password", async () => {
    const { email, token } = await registered(professor);
    const { entries } = await traceOf(service, async () => {
      expect((await verify(token, "192.0.2.9", { password: his })).status).toBe(200);
    });
    expect(entries).toMatchObject([{ changes: { password: "confirmed" } }]);
    expect(await signIn(email, his, professor)).toBe(200);
  });

  it("verifies by the bare call from where the registration came from, whatever the body is like", async () => {
    const bodies: [unknown, Record<string, string>?][] = [
      [undefined],
      [undefined, { "content-type": "application/json" }],
      [{}],
      ["{}"],
      ["null"],
      [{ unknown: 1 }],
    ];
    for (const [body, headers] of bodies) {
      const { email, token } = await registered(professor);
      expect([body, (await verify(token, professor, body, headers)).status]).toEqual([body, 200]);
      expect(await signIn(email, his, professor)).toBe(200);
    }
  });

  it("of IPv6 a subscriber's network is one place", async () => {
    const { email, token } = await registered("2001:db8:7:7::1");
    await verify(token, "2001:db8:7:7:ffff::2");
    expect(await signIn(email, his, professor)).toBe(200);
  });
});

describe("422", () => {
  it.each([
    ["a list", [], "model_attributes_type"],
    ["a number as password", { password: 1 }, "string_type"],
    ["null as new password", { new_password: null }, "string_type"],
    ["a short new password", { new_password: "x" }, "string_too_short"],
  ])("%s, and the link stays good", async (_name, body, type) => {
    const { token } = await registered();
    const answer = await verify(token, professor, body);
    expect([answer.status, answer.body.detail[0].type]).toEqual([422, type]);
    expect((await verify(token, professor, { new_password: hers })).status).toBe(200);
  });
});

describe("a directory", () => {
  // A rate of two a minute, so that the day's numbers are small: 2 answers that an address is taken for one client and
  // tenant, 10 for a tenant, 40 registrations of one client.
  it("is not read by registering: that an address is taken is told a few times a day", async () => {
    const strict = await startService({ TRUST_PROXY: "127.0.0.1", RATE_REGISTER_PER_MINUTE: "2" });
    try {
      const probe = async (ip: string, email: string, subdomain = "demo") =>
        strict.call("POST", "/api/auth/register", {
          body: { email, password: hers, full_name: "Some One", role: "nurse", subdomain },
          headers: { "x-forwarded-for": ip },
        });
      const taken = ["admin", "head", "doctor", "nurse", "registrar"].map((name) => `${name}@demo.example`);
      const forget = () => strict.database.owner.query("delete from rate_limits where key like 'register:%'");
      const statuses: number[] = [];
      for (let at = 0; at < 14; at++) {
        const answer = await probe(`203.0.113.${Math.floor(at / 2)}`, taken[at % 5] ?? "");
        statuses.push(answer.status);
        if (answer.status === 429) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(3_600);
      }
      expect(statuses).toEqual([...Array.from({ length: 10 }, () => 409), 429, 429, 429, 429]);
      // Then nothing tells a taken address from a free one.
      expect((await probe("203.0.113.200", "free@people.example")).status).toBe(429);
      await forget();
      const other = await makeTenant(strict, await strict.signIn("superadmin"), { registration: "open" });
      expect((await probe("203.0.113.201", "free@people.example", other.subdomain)).status).toBe(201);
    } finally {
      await strict.stop();
    }
  });

  it("one client has so many of these answers in a tenant, and so many registrations a day", async () => {
    const strict = await startService({ TRUST_PROXY: "127.0.0.1", RATE_REGISTER_PER_MINUTE: "3" });
    try {
      const probe = async (email: string) => {
        await strict.database.owner.query("delete from rate_limits where key like 'register:%'");
        const body = { email, password: hers, full_name: "Some One", role: "nurse", subdomain: "demo" };
        return (await strict.call("POST", "/api/auth/register", { body })).status;
      };
      const statuses = [];
      for (const name of ["admin", "head", "doctor"]) statuses.push(await probe(`${name}@demo.example`));
      expect(statuses).toEqual([409, 409, 409]);
      expect(await probe("nurse@demo.example")).toBe(429);
      expect(await probe("free@people.example")).toBe(429);
    } finally {
      await strict.stop();
    }
  });
});

// How often one may call at all: per user, per tenant, and per address where no token is asked for; where in the order of
// answers that is, and that a refusal of this kind leaves nothing behind.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { traceOf } from "../support/journal.ts";
import {
  type Answer,
  type CallOptions,
  demoPassword,
  startService,
  type TestService,
} from "../support/service.ts";

const perUser = 40;
const perTenant = 100;
const perAddress = 30;
const perSender = 50;

let service: TestService;
beforeAll(async () => {
  service = await startService({
    TRUST_PROXY: "127.0.0.1",
    RATE_REQUESTS_PER_MINUTE: String(perUser),
    RATE_TENANT_REQUESTS_PER_MINUTE: String(perTenant),
    RATE_ANONYMOUS_PER_MINUTE: String(perAddress),
    RATE_NOTIFICATIONS_PER_MINUTE: String(perSender),
  });
});
afterAll(() => service.stop());

let address = 0;
const newAddress = () => `203.0.113.${++address}`;

/** People who have not called yet. */
async function people(roles: readonly string[]): Promise<{ tokens: string[]; clinicId: number }> {
  const clinic = await service.database.owner.query(
    `insert into tenants (name, subdomain) values ('A Clinic', 'rates-' || currval('tenants_id_seq')) returning id, subdomain`,
  );
  const { id, subdomain } = clinic.rows[0];
  const tokens: string[] = [];
  for (const [nth, role] of roles.entries()) {
    // Made by the owner of the database: administrators have rates too.
    await service.database.owner.query(
      `insert into users (tenant_id, email, full_name, role, approved_at, email_verified, password_hash)
       select $1, $2, 'Some One', $3, now(), true, password_hash from users where role = 'superadmin' limit 1`,
      [id, `p${nth}@people.example`, role],
    );
    const body = { email: `p${nth}@people.example`, password: demoPassword, subdomain };
    const answer = await service.call("POST", "/api/auth/login", { body, headers: from(newAddress()) });
    tokens.push(answer.body.access_token);
  }
  return { tokens, clinicId: id };
}

const from = (ip: string) => ({ "x-forwarded-for": ip });

/** Asks `times` at once. @returns how many were let through, the others' answers, and how long it took */
async function burst(times: number, ask: (nth: number) => Promise<Answer>) {
  const startedAt = performance.now();
  const answers = await Promise.all(Array.from({ length: times }, (_, nth) => ask(nth)));
  const minutes = (performance.now() - startedAt) / 60_000;
  const refused = answers.filter(({ status }) => status === 429);
  for (const { body, headers } of refused) {
    expect(body).toEqual({ detail: "Too many requests", code: "too_many_requests" });
    expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(60);
  }
  return { passed: answers.filter(({ status }) => status !== 429), refused, minutes };
}

/** As many as the rate, and what has flowed in meanwhile. */
function expectRate({ passed, minutes }: Awaited<ReturnType<typeof burst>>, rate: number): void {
  expect(passed.length).toBeGreaterThanOrEqual(rate);
  expect(passed.length).toBeLessThanOrEqual(rate + Math.ceil(rate * minutes));
}

const me = (token: string | undefined) =>
  service.call("GET", "/api/users/me", token === undefined ? {} : { token });

describe("tokens that are not good", () => {
  const meFrom = (ip: string, token: string) =>
    service.call("GET", "/api/users/me", { token, headers: from(ip) });

  it("have a rate per address; beyond it signing in is possible, and who was signed in goes on", async () => {
    const { tokens } = await people(["nurse", "doctor"]);
    const [token = "", ended = ""] = tokens;
    for (const each of [token, ended]) expect((await me(each)).status).toBe(200);
    const ip = newAddress();
    // Good ones take nothing, however many they are.
    const good = await burst(perUser / 2, (nth) => meFrom(ip, nth % 2 === 0 ? token : ended));
    expect(good.passed.map(({ status }) => status)).toEqual(Array(perUser / 2).fill(200));
    // What is asked at once beyond the rate is a debt: nothing comes through until it is paid, which takes most of a minute.
    const tries = perAddress * 2 - 2;
    const asked = await burst(tries, (nth) => meFrom(ip, `${token}${nth}`));
    expect(asked.passed.length).toBeGreaterThanOrEqual(perAddress);
    expect(asked.passed.filter(({ status }) => status !== 401)).toEqual([]);
    const { refused } = await burst(20, (nth) => meFrom(ip, `${token}y${nth}`));
    expect(refused.length).toBeGreaterThanOrEqual(15);
    expect((await meFrom(ip, token)).status).toBe(200);
    const signIn = await service.call("POST", "/api/auth/login", { body: {}, headers: from(ip) });
    expect(signIn.status).toBe(422);
    expect((await meFrom(newAddress(), `${token}x`)).status).toBe(401);
    // What was good once and is no more is told so once, and is one of the bad ones from then on.
    expect((await service.call("POST", "/api/auth/logout", { token: ended })).status).toBeLessThan(300);
    expect((await meFrom(ip, ended)).status).toBe(401);
    const late = await burst(perAddress * 2, () => meFrom(ip, ended));
    expect(late.refused.length).toBeGreaterThanOrEqual(1);
    // Maybe none, or as many as have flowed in.
    expect(late.passed.filter(({ status }) => status !== 401)).toEqual([]);
  });

  it("are those alone that were found bad: new ones that are good take nothing", async () => {
    const { tokens } = await people(Array(6).fill("nurse"));
    const ip = newAddress();
    const spend = (times: number) => burst(times, (nth) => meFrom(ip, `${tokens[0]}${nth}`));
    await spend(perAddress - 1);
    for (const token of tokens) expect((await meFrom(ip, token)).status).toBe(200);
    expect((await spend(1)).passed.map(({ status }) => status)).toEqual([401]);
  });
});

describe("a signed-in user", () => {
  it("has so many requests, whatever the address; another user is not concerned", async () => {
    const { tokens } = await people(["nurse", "doctor"]);
    const [token, other] = tokens;
    const asked = await burst(perUser * 2, (nth) =>
      service.call("GET", nth % 2 === 0 ? "/api/users/me" : "/api/preferences", {
        ...(token === undefined ? {} : { token }),
        headers: from(newAddress()),
      }),
    );
    expectRate(asked, perUser);
    expect(asked.passed.every(({ status }) => status === 200)).toBe(true);
    expect((await me(other)).status).toBe(200);
  });

  it("beyond it is told 429 before 403 and 422, and nothing is written", async () => {
    const { tokens } = await people(["nurse"]);
    const [token = ""] = tokens;
    await burst(perUser, () => me(token));
    const { entries, events } = await traceOf(service, async () => {
      const asked = await burst(20, () => service.call("POST", "/api/admin/users", { token, body: "{" }));
      expect(asked.refused.length).toBeGreaterThanOrEqual(15);
      expect(new Set(asked.passed.map(({ status }) => status)).size).toBeLessThanOrEqual(1);
    });
    // At most those that had flowed in meanwhile.
    expect(entries.length).toBeLessThanOrEqual(1);
    expect(events).toEqual([]);
    // Who is nobody is told so.
    expect((await me(`${token}x`)).status).toBe(401);
    expect((await me(undefined)).status).toBe(401);
    // What is not there, or is a page, is no matter of rates.
    expect((await service.call("GET", "/api/nothing", { token })).status).toBe(404);
    expect((await service.call("GET", "/docs", { token })).status).toBeLessThan(400);
  });

  it("a large body counts for more, by its bytes", async () => {
    const { tokens } = await people(["nurse", "nurse"]);
    const put = (token: string, bytes: number) =>
      service.call("PUT", "/api/preferences/theme", { token, body: { theme: "dark", x: "x".repeat(bytes) } });
    const [first = "", second = ""] = tokens;
    // The operation itself counts for half of what a user has.
    expect((await put(first, 8_000)).status).toBe(200);
    expect((await put(first, 8_000)).status).toBe(200);
    expect((await put(second, 200_000)).status).toBe(429);
  });

  it("what costs more counts for more", async () => {
    const { tokens } = await people(["admin"]);
    const [token = ""] = tokens;
    const verify = () => service.call("GET", "/api/admin/audit/verify", { token });
    expect((await verify()).status).toBe(200);
    // A full bucket's worth.
    expect((await verify()).status).toBe(429);
    expect((await me(token)).status).toBe(429);
  });
});

describe("a tenant", () => {
  it("has so many requests, of all its users together; another tenant is not concerned", async () => {
    const { tokens } = await people(["nurse", "nurse", "doctor", "doctor"]);
    const { tokens: others } = await people(["nurse"]);
    const asked = await burst(perUser * 4, (nth) => me(tokens[nth % 4]));
    expectRate(asked, perTenant);
    expect((await me(others[0])).status).toBe(200);
  });
});

describe("an address", () => {
  const options = (ip: string, body?: unknown): CallOptions => ({
    headers: from(ip),
    ...(body === undefined ? {} : { body }),
  });
  const operations: ((ip: string) => Promise<Answer>)[] = [
    (ip) => service.call("GET", "/api/auth/departments?subdomain=demo", options(ip)),
    (ip) => service.call("POST", "/api/auth/verify-email?token=x", options(ip)),
    (ip) =>
      service.call(
        "POST",
        "/api/auth/reset-password",
        options(ip, { token: "x", new_password: "a longer secret 81" }),
      ),
    (ip) => service.call("POST", "/api/auth/login", options(ip, {})),
    (ip) => service.call("POST", "/api/auth/register", options(ip, {})),
    (ip) => service.call("POST", "/api/auth/request-reset", options(ip, {})),
    (ip) => service.call("POST", "/api/auth/resend-verification", options(ip, {})),
  ];

  it("has so many requests of what needs no token, all of it together; another address is not concerned", async () => {
    const ip = newAddress();
    const ask = (nth: number, at: string) => operations[nth % operations.length]?.(at) as Promise<Answer>;
    expectRate(await burst(perAddress * 2, (nth) => ask(nth, ip)), perAddress);
    const statuses = await Promise.all(operations.map((operation) => operation(newAddress())));
    expect(statuses.map(({ status }) => status)).toEqual([200, 400, 400, 422, 422, 422, 422]);
  });

  it("a list of all tenants counts for more", async () => {
    const ip = newAddress();
    const asked = await burst(perAddress, () => service.call("GET", "/api/auth/tenants", options(ip)));
    expect(asked.passed.length).toBeGreaterThanOrEqual(perAddress / 5);
    expect(asked.passed.length).toBeLessThanOrEqual(perAddress / 5 + Math.ceil(perAddress * asked.minutes));
  });

  it("has so many notifications, and they are a rate of their own", async () => {
    const ip = newAddress();
    const paths = ["/webhooks/card-provider", "/webhooks/wallet-provider", "/webhooks/telegram"];
    const asked = await burst(perSender * 2, (nth) =>
      service.call("POST", paths[nth % 3] ?? "", options(ip, "{")),
    );
    expectRate(asked, perSender);
    expect((await operations[0]?.(ip))?.status).toBe(200);
    expect((await service.call("POST", "/webhooks/card-provider", options(newAddress(), "{"))).status).toBe(
      422,
    );
  });

  it("who is signed in goes on, whatever others do from the same address", async () => {
    const { tokens } = await people(["nurse"]);
    const ip = newAddress();
    await burst(perAddress + 5, () => operations[0]?.(ip) as Promise<Answer>);
    const { status } = await service.call("GET", "/api/users/me", {
      token: tokens[0] ?? "",
      headers: from(ip),
    });
    expect(status).toBe(200);
  });
});

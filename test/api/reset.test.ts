// Section 4.2, a forgotten password: asking tells nothing, a mailed token works once, and every session ends.
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { traceOf } from "../support/journal.ts";
import { mailsTo, mailTo, subjects, tokenIn } from "../support/mailbox.ts";
import { type Answer, demoPassword, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser, type Made } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  // Fifty passwords hashed at once may take longer on a busy machine than a call usually may.
  service = await startService({ REQUEST_TIMEOUT_MS: "60000" });
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
});
afterAll(() => service.stop());

const newPassword = "Quite-Another-Secret-8";
const newUser = (): Promise<Made> => makeUser(service, clinic.token);
const ask = (email: string, subdomain = clinic.subdomain): Promise<Answer> =>
  service.call("POST", "/api/auth/request-reset", { body: { email, subdomain } });
const complete = (token: unknown, new_password: unknown = newPassword): Promise<Answer> =>
  service.call("POST", "/api/auth/reset-password", { body: { token, new_password } });
const login = (email: string, password: string): Promise<Answer> =>
  service.call("POST", "/api/auth/login", { body: { email, password, subdomain: clinic.subdomain } });
const me = async (token: string): Promise<number> =>
  (await service.call("GET", "/api/users/me", { token })).status;
const forgetMailRates = () => service.database.owner.query("delete from rate_limits");

async function tokenOf(email: string, after = 0): Promise<string> {
  expect((await ask(email)).status).toBe(202);
  return tokenIn(await mailTo(service, email, subjects.reset, after));
}

describe("202", () => {
  it("known, blocked, unknown and foreign accounts are answered alike, byte for byte", async () => {
    const known = await newUser();
    const blocked = await newUser();
    await service.call("POST", `/api/admin/users/${blocked.id}/block`, { token: clinic.token });
    const other = await makeClinic(service, superadmin);
    const answers = await Promise.all([
      ask(known.email),
      ask(blocked.email),
      ask("nobody@people.example"),
      ask(known.email, other.subdomain),
      ask(known.email, "nowhere"),
      ask(known.email, "platform"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 202]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    await mailTo(service, known.email, subjects.reset);
    expect(await mailsTo(service, "nobody@people.example")).toEqual([]);
  });

  it("once a minute per account, known or not", async () => {
    const { email } = await newUser();
    for (const address of [email, "stranger@people.example"]) {
      expect((await ask(address)).status).toBe(202);
      const again = await ask(address.toUpperCase());
      expect(again.status).toBe(429);
      expect(Number(again.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
  });

  it("changes nothing for the owner: sessions and password stay", async () => {
    const { email } = await newUser();
    const session = await service.signInAs(email, clinic.subdomain);
    await tokenOf(email);
    expect(await me(session)).toBe(200);
    expect((await login(email, demoPassword)).status).toBe(200);
  });

  it("the link is built from PUBLIC_URL whatever the request's Host says", async () => {
    const { email } = await newUser();
    const body = JSON.stringify({ email, subdomain: clinic.subdomain });
    const headers = {
      host: "attacker.example",
      "x-forwarded-host": "attacker.example",
      "x-forwarded-proto": "https",
      forwarded: "host=attacker.example",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const status = await new Promise((resolve, reject) => {
      const sent = httpRequest(
        `${service.url}/api/auth/request-reset`,
        { method: "POST", headers },
        (answer) => {
          answer.resume().once("end", () => resolve(answer.statusCode));
        },
      );
      sent.once("error", reject).end(body);
    });
    expect(status).toBe(202);
    const mail = await mailTo(service, email, subjects.reset);
    const links = `${mail.text}${mail.html}`.match(/https?:\/\/[^\s"'<>)]+/g) ?? [];
    expect(links.length).toBeGreaterThan(1);
    for (const link of links) expect(link).toMatch(/^http:\/\/records\.test\//);
    expect(JSON.stringify(mail)).not.toContain("attacker");
  });
});

describe("200", () => {
  it("the new password opens, the old one does not, every session has ended, and the owner is told", async () => {
    const user = await newUser();
    const sessions = [
      await service.signInAs(user.email, clinic.subdomain),
      await service.signInAs(user.email, clinic.subdomain),
    ];
    const token = await tokenOf(user.email);
    const { entries, events } = await traceOf(service, async () => {
      expect(await complete(token)).toMatchObject({ status: 200, body: { detail: expect.any(String) } });
    });
    expect(entries).toMatchObject([
      { action: "user.reset_password", outcome: "ok", tenant_id: clinic.id, user_id: user.id },
    ]);
    expect(events).toMatchObject([{ kind: "user.updated", payload: { user_id: user.id } }]);
    expect(JSON.stringify([entries, events])).not.toContain(newPassword);
    for (const session of sessions) expect(await me(session)).toBe(401);
    expect((await login(user.email, demoPassword)).status).toBe(401);
    expect((await login(user.email, newPassword)).status).toBe(200);
    await mailTo(service, user.email, subjects.changed);
    expect(service.process.output()).not.toMatch(new RegExp(`${token}|${newPassword}`));
  });

  it("forgets what was guessed at the old password, and verifies the address", async () => {
    const user = await newUser();
    const { owner } = service.database;
    await owner.query("update users set email_verified = false where id = $1", [user.id]);
    const strangers = [[Math.floor(Date.now() / 3_600_000), 100]];
    await owner.query("insert into lockouts (tenant_id, account, state) values ($1, $2, $3)", [
      clinic.id,
      `user:${user.id}`,
      JSON.stringify({ strangers, origins: [] }),
    ]);
    expect((await login(user.email, demoPassword)).status).toBe(401);
    await complete(await tokenOf(user.email));
    expect((await login(user.email, newPassword)).status).toBe(200);
  });

  it("does not open a blocked or a pending account", async () => {
    for (const [sets, code] of [
      ["is_active = false", "account_blocked"],
      ["is_active = false, approved_at = null", "account_pending"],
    ]) {
      const user = await newUser();
      await service.database.owner.query(`update users set ${sets} where id = $1`, [user.id]);
      expect((await complete(await tokenOf(user.email))).status).toBe(200);
      expect(await login(user.email, newPassword)).toMatchObject({ status: 403, body: { code } });
    }
  });

  it("of 50 uses at once one succeeds, and its password is the one that opens", async () => {
    const { email } = await newUser();
    const token = await tokenOf(email);
    const passwords = Array.from({ length: 50 }, (_, i) => `Racing-Password-${i}x`);
    const answers = await Promise.all(passwords.map((password) => complete(token, password)));
    const won = answers.flatMap(({ status }, i) => (status === 200 ? [passwords[i] ?? ""] : []));
    expect(won).toHaveLength(1);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 400]));
    expect((await login(email, won[0] ?? "")).status).toBe(200);
  });
});

describe("400", () => {
  it("of three open links each works, and using one voids the others", async () => {
    const { email } = await newUser();
    const tokens: string[] = [];
    for (let i = 0; i < 3; i++) {
      tokens.push(await tokenOf(email, i));
      await forgetMailRates();
    }
    expect((await complete(tokens[1])).status).toBe(200);
    for (const token of tokens) expect((await complete(token, "Never-Set-Password-1")).status).toBe(400);
  });

  it("wrong, used, expired and voided tokens are answered alike; nothing changes", async () => {
    const user = await newUser();
    const used = await tokenOf(user.email);
    await complete(used);
    const late = await newUser();
    const expired = await tokenOf(late.email);
    await service.database.owner.query("update mail_tokens set expires_at = now() where user_id = $1", [
      late.id,
    ]);
    const gone = await newUser();
    const deleted = await tokenOf(gone.email);
    await service.call("DELETE", `/api/admin/users/${gone.id}`, { token: clinic.token });
    const tokens = [used, expired, deleted, "", "x", "A".repeat(43), "%", `${expired} `];
    const answers = await Promise.all(tokens.map((token) => complete(token, "Never-Set-Password-1")));
    expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 400));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect((await login(late.email, demoPassword)).status).toBe(200);
    expect((await login(user.email, newPassword)).status).toBe(200);
  });

  it("a token of an inactive or deleted tenant is none", async () => {
    const other = await makeClinic(service, superadmin);
    expect((await ask(other.admin.email, other.subdomain)).status).toBe(202);
    const token = tokenIn(await mailTo(service, other.admin.email, subjects.reset));
    const path = `/api/admin/tenants/${other.id}`;
    await service.call("PUT", path, { token: superadmin, body: { is_active: false } });
    expect((await complete(token)).status).toBe(400);
    await service.call("DELETE", path, { token: superadmin });
    expect((await complete(token)).status).toBe(400);
  });

  it("lives one hour", async () => {
    const user = await newUser();
    await tokenOf(user.email);
    const sql =
      "select extract(epoch from expires_at - created_at)::integer as s from mail_tokens where user_id = $1";
    expect((await service.database.owner.query(sql, [user.id])).rows).toEqual([{ s: 3600 }]);
  });
});

describe("422", () => {
  it("a bad password leaves the token usable for a better one", async () => {
    const { email } = await newUser();
    const token = await tokenOf(email);
    for (const bad of ["short", "password123", email, "x".repeat(129), null, 12345678]) {
      const answer = await complete(token, bad);
      expect(answer.status).toBe(422);
      expect(answer.body.detail[0].loc).toEqual(["body", "new_password"]);
    }
    expect((await complete(token)).status).toBe(200);
  });

  it.each([
    ["/api/auth/reset-password", {}, ["token", "new_password"]],
    ["/api/auth/request-reset", {}, ["email", "subdomain"]],
    ["/api/auth/request-reset", { email: "none", subdomain: "" }, ["email", "subdomain"]],
    ["/api/auth/request-reset", { email: null, subdomain: 7 }, ["email", "subdomain"]],
  ])("%s %j", async (path, body, fields) => {
    const answer = await service.call("POST", path, { body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail.map(({ loc }: { loc: string[] }) => loc[1])).toEqual(fields);
  });
});

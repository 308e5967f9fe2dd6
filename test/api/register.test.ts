// Section 4.2, registering: the three modes of a tenant, verification by mail, and what is told to strangers.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { traceOf } from "../support/journal.ts";
import { mailsTo, mailTo, subjects, tokenIn } from "../support/mailbox.ts";
import { type Answer, demoPassword, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeTenant, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let open: { id: number; subdomain: string };
beforeAll(async () => {
  service = await startService({ DEFAULT_REGISTRATION: "approval" });
  superadmin = await service.signIn("superadmin");
  open = await makeTenant(service, superadmin, { registration: "open" });
});
afterAll(() => service.stop());

const applicant = (more: Record<string, unknown> = {}): Record<string, unknown> & { email: string } => ({
  email: `${unique("new")}@people.example`,
  password: demoPassword,
  full_name: "Nina Neumann",
  role: "nurse",
  subdomain: open.subdomain,
  ...more,
});
const register = (body: unknown): Promise<Answer> => service.call("POST", "/api/auth/register", { body });
const verify = (token: string): Promise<Answer> =>
  service.call("POST", `/api/auth/verify-email?token=${encodeURIComponent(token)}`);
const resend = (email: string, subdomain = open.subdomain): Promise<Answer> =>
  service.call("POST", "/api/auth/resend-verification", { body: { email, subdomain } });
const login = (email: string, subdomain = open.subdomain): Promise<Answer> =>
  service.call("POST", "/api/auth/login", { body: { email, password: demoPassword, subdomain } });
/** Lets the next mail to an account go at once instead of in a minute. */
const forgetMailRates = () => service.database.owner.query("delete from rate_limits");
const usersOf = async (email: string): Promise<number> => {
  const sql =
    "select count(*)::integer as users from users where lower(email) = lower($1) and deleted_at is null";
  return (await service.database.owner.query(sql, [email])).rows[0].users;
};

describe("201", () => {
  it("answers the new profile with its department", async () => {
    const admin = await makeUser(service, superadmin, { tenant_id: open.id, role: "admin" });
    const token = await service.signInAs(admin.email, open.subdomain);
    const ward = await makeDepartment(service, token);
    const { status, body } = await register(applicant({ department_id: ward.id, role: "doctor" }));
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      email: expect.stringMatching(/@people\.example$/),
      full_name: "Nina Neumann",
      role: "doctor",
      tenant_id: open.id,
      department_id: ward.id,
      department: { id: ward.id, name: ward.name },
      can_see_all_patients: false,
      is_active: true,
      email_verified: false,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
    expect(Object.keys(body).slice(0, 8).at(6)).toBe("department");
  });

  it.each(["doctor", "nurse", "registrar"])("%s may be asked for", async (role) => {
    expect(await register(applicant({ role }))).toMatchObject({
      status: 201,
      body: { role, department: null, department_id: null },
    });
  });

  it("what is not the applicant's to say is ignored", async () => {
    const more = { is_active: false, email_verified: true, can_see_all_patients: true, tenant_id: 1, id: 1 };
    const { body } = await register(applicant(more));
    expect(body).toMatchObject({
      is_active: true,
      email_verified: false,
      can_see_all_patients: false,
      tenant_id: open.id,
    });
    expect(body.id).not.toBe(1);
  });

  it("leaves one entry, one event and no password anywhere", async () => {
    const body = applicant({ password: "Never-To-Be-Seen-77" });
    const { entries, events } = await traceOf(service, () => register(body));
    const made = entries.filter(({ action }) => action === "user.register");
    expect(made).toMatchObject([{ tenant_id: open.id, user_id: null, outcome: "ok", target_type: "user" }]);
    expect(events).toMatchObject([{ tenant_id: open.id, kind: "user.created" }]);
    expect(JSON.stringify([entries, events])).not.toMatch(/Never-To-Be-Seen|argon2/);
    expect(service.process.output()).not.toContain("Never-To-Be-Seen");
  });

  it("the address is trimmed, keeps its case, and is compared without it", async () => {
    const name = unique("Mixed");
    const { status, body } = await register(applicant({ email: `  ${name}@People.Example ` }));
    expect(status).toBe(201);
    expect(body.email).toMatch(new RegExp(`^${name}@people\\.example$`, "i"));
    await verify(tokenIn(await mailTo(service, body.email, subjects.verify)));
    expect((await register(applicant({ email: `${name.toLowerCase()}@people.example` }))).status).toBe(409);
  });
});

describe("the three modes", () => {
  it("open: the account opens by verifying the address", async () => {
    const { email } = (await register(applicant())).body;
    expect(await login(email)).toMatchObject({ status: 403, body: { code: "email_not_verified" } });
    const mail = await mailTo(service, email, subjects.verify);
    expect(await verify(tokenIn(mail))).toMatchObject({
      status: 200,
      body: { detail: expect.any(String), email_verified: true },
    });
    expect((await login(email)).status).toBe(200);
  });

  it("approval: the account waits until unblock approves it, and its owner is told", async () => {
    const clinic = await makeClinic(service, superadmin, { registration: "approval" });
    const { body } = await register(applicant({ subdomain: clinic.subdomain }));
    expect(body.is_active).toBe(false);
    expect((await login(body.email, clinic.subdomain)).body.code).toBe("account_pending");
    await verify(tokenIn(await mailTo(service, body.email, subjects.verify)));
    expect((await login(body.email, clinic.subdomain)).body.code).toBe("account_pending");
    const unblock = () =>
      service.call("POST", `/api/admin/users/${body.id}/unblock`, { token: clinic.token });
    const first = await traceOf(service, unblock);
    expect(first.entries.filter(({ action }) => action === "user.unblock")).toMatchObject([
      { changes: { was_pending: true }, user_id: clinic.admin.id },
    ]);
    expect(first.events).toMatchObject([{ kind: "user.unblocked" }]);
    expect((await login(body.email, clinic.subdomain)).status).toBe(200);
    await mailTo(service, body.email, subjects.approved);
    await unblock();
    await service.call("POST", `/api/admin/users/${body.id}/block`, { token: clinic.token });
    expect((await login(body.email, clinic.subdomain)).body.code).toBe("account_blocked");
    await unblock();
    expect((await login(body.email, clinic.subdomain)).status).toBe(200);
    const told = (await mailsTo(service, body.email)).filter(({ subject }) =>
      subjects.approved.test(subject ?? ""),
    );
    expect(told).toHaveLength(1);
  });

  it("a tenant that has not chosen follows the setting", async () => {
    const tenant = await makeTenant(service, superadmin);
    const { body } = await register(applicant({ subdomain: tenant.subdomain }));
    expect(body.is_active).toBe(false);
  });

  it("closed: 403, whatever else, and nothing is kept", async () => {
    const clinic = await makeClinic(service, superadmin, { registration: "closed" });
    for (const more of [{}, { email: clinic.admin.email }, { department_id: 999 }]) {
      const body = applicant({ subdomain: clinic.subdomain, ...more });
      expect(await register(body)).toMatchObject({ status: 403, body: { code: "registration_closed" } });
    }
  });
});

describe("403", () => {
  it.each(["superadmin", "admin", "head_doctor"])("the role %s is not for the asking", async (role) => {
    const body = applicant({ role });
    const answer = await register(body);
    expect(answer.status).toBe(403);
    expect(answer.body).toEqual({ detail: expect.any(String), code: expect.any(String) });
    expect(await usersOf(body.email)).toBe(0);
  });

  it("a refused registration is an entry of the tenant's log, and no more than that", async () => {
    const { entries, events } = await traceOf(service, () => register(applicant({ role: "admin" })));
    expect(events).toEqual([]);
    expect(entries).toMatchObject([
      {
        action: "user.register",
        outcome: "denied",
        user_id: null,
        changes: { code: "role_not_registrable" },
      },
    ]);
  });
});

describe("404", () => {
  it("unknown, inactive and deleted tenants and the platform cannot be told apart", async () => {
    const inactive = await makeTenant(service, superadmin, { registration: "open" });
    const path = (id: number) => `/api/admin/tenants/${id}`;
    await service.call("PUT", path(inactive.id), { token: superadmin, body: { is_active: false } });
    const deleted = await makeTenant(service, superadmin, { registration: "open" });
    await service.call("DELETE", path(deleted.id), { token: superadmin });
    const names = ["nowhere", "platform", "PLATFORM", inactive.subdomain, deleted.subdomain, "%", "' or 1=1"];
    const answers = await Promise.all(names.map((subdomain) => register(applicant({ subdomain }))));
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 404));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });
});

describe("409", () => {
  it("an address that is taken and verified in this tenant, and only in this one", async () => {
    const body = applicant();
    expect((await register(body)).status).toBe(201);
    await verify(tokenIn(await mailTo(service, body.email, subjects.verify)));
    const again = await register({ ...body, email: body.email.toUpperCase() });
    expect(again).toMatchObject({ status: 409, body: { code: "email_taken" } });
    const other = await makeTenant(service, superadmin, { registration: "open" });
    expect((await register({ ...body, subdomain: other.subdomain })).status).toBe(201);
  });

  it("an address of an account that an administrator made", async () => {
    const { email } = await makeUser(service, superadmin, { tenant_id: open.id });
    expect((await register(applicant({ email }))).status).toBe(409);
  });

  it.each(["block", "unblock", "role"])(
    "an unverified one whose account an administrator acted on: %s",
    async (verb) => {
      const clinic = await makeClinic(service, superadmin, { registration: "approval" });
      const { body } = await register(applicant({ subdomain: clinic.subdomain }));
      const act = (name: string) =>
        service.call(name === "role" ? "PUT" : "POST", `/api/admin/users/${body.id}/${name}`, {
          token: clinic.token,
          ...(name === "role" ? { body: { role: "doctor" } } : {}),
        });
      // Blocking what was never active changes nothing; of an approved one it does.
      if (verb === "block") await act("unblock");
      expect((await act(verb)).status).toBe(200);
      const again = await register(applicant({ email: body.email, subdomain: clinic.subdomain }));
      expect(again).toMatchObject({ status: 409, body: { code: "email_taken" } });
    },
  );
});

describe("registering an address that nobody has verified", () => {
  it("replaces the earlier registration: another id, another password, and no token of the old one", async () => {
    const first = applicant({ password: "First-Come-Password-1", full_name: "Sam Stranger", role: "doctor" });
    const { body: old } = await register(first);
    const stale = tokenIn(await mailTo(service, first.email, subjects.verify));
    const { entries, events } = await traceOf(service, async () => {
      const { status, body } = await register({ ...applicant(), email: first.email.toUpperCase() });
      expect([status, body.role, body.full_name]).toEqual([201, "nurse", "Nina Neumann"]);
      expect(body.id).not.toBe(old.id);
    });
    expect(entries.filter(({ action }) => action === "user.register")).toMatchObject([
      { outcome: "ok", changes: { replaces: old.id } },
    ]);
    expect(events).toMatchObject([
      { kind: "user.deleted", payload: { user_id: old.id } },
      { kind: "user.created" },
    ]);
    expect(await usersOf(first.email)).toBe(1);
    expect((await verify(stale)).status).toBe(400);
    await verify(tokenIn(await mailTo(service, first.email, subjects.verify, 1)));
    expect((await login(first.email)).status).toBe(200);
    const body = { email: first.email, password: first.password, subdomain: open.subdomain };
    expect((await service.call("POST", "/api/auth/login", { body })).status).toBe(401);
  });

  it("of six at once the last one stands, and no mail of another opens it", async () => {
    const body = applicant();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, at) => register({ ...body, full_name: `Nina ${"I".repeat(at + 1)}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 201]);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(6);
    expect(await usersOf(body.email)).toBe(1);
    const sql =
      "select count(*)::integer as n from registrations r join users u on u.id = r.user_id where u.email = $1";
    expect((await service.database.owner.query(sql, [body.email])).rows).toEqual([{ n: 1 }]);
  });

  it("a registration that nobody verified goes after the retention, unless an administrator took it up", async () => {
    const clinic = await makeClinic(service, superadmin, { registration: "approval" });
    const [kept, gone, fresh] = await Promise.all(
      Array.from(
        { length: 3 },
        async () => (await register(applicant({ subdomain: clinic.subdomain }))).body,
      ),
    );
    await service.call("POST", `/api/admin/users/${kept.id}/unblock`, { token: clinic.token });
    await service.database.owner.query(
      "update registrations set created_at = now() - interval '31 days' where user_id = any($1)",
      [[kept.id, gone.id]],
    );
    const { events } = await traceOf(service, async () => {
      await service.database.owner.query("select graphile_worker.add_job('users.purge')");
      await eventually(async () => (await usersOf(gone.email)) === 0);
    });
    expect(events).toMatchObject([{ kind: "user.deleted", payload: { user_id: gone.id } }]);
    expect([await usersOf(kept.email), await usersOf(fresh.email)]).toEqual([1, 1]);
  });
});

describe("422", () => {
  it("all that is missing comes back together; a department is not demanded", async () => {
    const { status, body } = await register({});
    expect(status).toBe(422);
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc[1])).toEqual([
      "email",
      "password",
      "full_name",
      "role",
      "subdomain",
    ]);
  });

  it.each([
    ["email", "none", "value_error"],
    ["email", "a@b", "value_error"],
    ["email", null, "string_type"],
    ["email", "a\0b@people.example", "value_error"],
    ["password", "short7!", "string_too_short"],
    ["password", "x".repeat(129), "string_too_long"],
    ["password", "password123", "value_error"],
    ["password", "Nina-Neumann", "value_error"],
    ["password", "aaaaaaaaaaaa", "value_error"],
    ["full_name", "", "string_too_short"],
    ["full_name", "   ", "string_too_short"],
    ["full_name", "x".repeat(201), "string_too_long"],
    ["full_name", "a\0b", "value_error"],
    ["role", "god", "literal_error"],
    ["role", "", "literal_error"],
    ["subdomain", "", "string_too_short"],
    ["department_id", 0, "greater_than_equal"],
    ["department_id", "x", "int_parsing"],
    ["department_id", 2_147_483_648, "less_than_equal"],
    ["department_id", 2_000_000_000, "value_error"],
  ])("%s %j is %s", async (field, value, type) => {
    const body = applicant({ [field]: value });
    const answer = await register(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ["body", field], msg: expect.any(String), type }]);
    expect(JSON.stringify(answer.body)).not.toContain(demoPassword);
  });

  it("a department of another tenant is as unknown as one that is not there", async () => {
    const other = await makeClinic(service, superadmin);
    const ward = await makeDepartment(service, other.token);
    const foreign = await register(applicant({ department_id: ward.id }));
    const unknown = await register(applicant({ department_id: 2_000_000_000 }));
    expect(foreign.status).toBe(422);
    expect(foreign.body).toEqual(unknown.body);
  });
});

describe("the verification mail", () => {
  it("has text and HTML, names the tenant, and links to PUBLIC_URL only", async () => {
    const { email } = (await register(applicant())).body;
    const mail = await mailTo(service, email, subjects.verify);
    const links = `${mail.text}${mail.html}`.match(/https?:\/\/[^\s"'<>)]+/g) ?? [];
    expect(links.length).toBeGreaterThan(1);
    for (const link of links) expect(link).toMatch(/^http:\/\/records\.test\//);
    expect(mail.text).toContain(`Tenant ${open.subdomain}`);
    expect(mail.text).toMatch(
      /^Name: Nina Neumann\nRole: nurse\nDepartment: none\nWhen: \d{4}-\d\d-\d\d \d\d:\d\d UTC\nFrom the address: 127\.0\.0\.1$/m,
    );
    expect(mail.text).toContain("If it was not you, do not confirm it");
    expect(mail.html).toContain(tokenIn(mail));
  });

  it("a token works once: of 50 at once one gets it", async () => {
    const { email } = (await register(applicant())).body;
    const token = tokenIn(await mailTo(service, email, subjects.verify));
    const { entries, events } = await traceOf(service, async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => verify(token)));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array.from({ length: 49 }, () => 400)]);
    });
    expect(entries.map(({ action }) => action)).toEqual(["user.verify_email"]);
    expect(events).toMatchObject([{ kind: "user.updated", payload: { fields: ["email_verified"] } }]);
  });

  it("a newer one voids the older", async () => {
    const { email } = (await register(applicant())).body;
    const older = tokenIn(await mailTo(service, email, subjects.verify));
    await resend(email);
    const newer = tokenIn(await mailTo(service, email, subjects.verify, 1));
    expect(newer).not.toBe(older);
    expect((await verify(older)).status).toBe(400);
    expect((await verify(newer)).status).toBe(200);
  });

  it("is not at rest in clear, and not in the log", async () => {
    const { email } = (await register(applicant())).body;
    const token = tokenIn(await mailTo(service, email, subjects.verify));
    await verify(token);
    const tables = ["mail_tokens", "audit_entries", "events", "graphile_worker._private_jobs"];
    for (const table of tables) {
      const sql = `select count(*)::integer as found from ${table} e where e::text like $1`;
      expect((await service.database.owner.query(sql, [`%${token}%`])).rows).toEqual([{ found: 0 }]);
    }
    expect(service.process.output()).not.toContain(token);
  });

  it("wrong, used, expired, foreign and voided tokens are answered alike", async () => {
    const { email } = (await register(applicant())).body;
    const used = tokenIn(await mailTo(service, email, subjects.verify));
    await verify(used);
    const second = (await register(applicant())).body.email;
    const expired = tokenIn(await mailTo(service, second, subjects.verify));
    await service.database.owner.query(
      "update mail_tokens set expires_at = now() where user_id = (select id from users where email = $1)",
      [second],
    );
    const third = (await register(applicant())).body;
    const deleted = tokenIn(await mailTo(service, third.email, subjects.verify));
    await service.call("DELETE", `/api/admin/users/${third.id}`, { token: superadmin });
    await service.call("POST", "/api/auth/request-reset", {
      body: { email, subdomain: open.subdomain },
    });
    const reset = tokenIn(await mailTo(service, email, subjects.reset));
    const tokens = [used, expired, deleted, reset, "x", "", "%00", "A".repeat(43), "💥", `${expired} `];
    const answers = await Promise.all(tokens.map(verify));
    expect(answers.map(({ status }) => status)).toEqual(tokens.map(() => 400));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]?.body.code).toBe("invalid_token");
  });

  it("lives 24 hours", async () => {
    const { email } = (await register(applicant())).body;
    await mailTo(service, email, subjects.verify);
    const { rows } = await service.database.owner.query(
      `select (extract(epoch from m.expires_at - m.created_at))::integer as seconds, kind
       from mail_tokens m join users u on u.id = m.user_id where u.email = $1`,
      [email],
    );
    expect(rows).toEqual([{ seconds: 86_400, kind: "verify_email" }]);
  });

  it("without a token in the query it is 422, also with one in the body", async () => {
    const answer = await service.call("POST", "/api/auth/verify-email", { body: { token: "x" } });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([{ loc: ["query", "token"], msg: "Field required", type: "missing" }]);
  });
});

describe("resending", () => {
  it("known, verified, unknown accounts and unknown tenants are answered alike, byte for byte", async () => {
    const pending = (await register(applicant())).body.email;
    const verified = (await makeUser(service, superadmin, { tenant_id: open.id })).email;
    await mailTo(service, pending, subjects.verify);
    const answers = await Promise.all([
      resend(pending),
      resend(verified),
      resend("nobody@people.example"),
      resend(pending, "nowhere"),
      resend(pending, "platform"),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]?.body).toEqual({ detail: expect.any(String), email_verified: false });
    await mailTo(service, pending, subjects.verify, 1);
    expect(await mailsTo(service, verified)).toEqual([]);
    expect(await mailsTo(service, "nobody@people.example")).toEqual([]);
  });

  it("once a minute per account, known or not, whatever the case", async () => {
    await forgetMailRates();
    const known = (await register(applicant())).body.email;
    for (const email of [known, "stranger@people.example"]) {
      expect((await resend(email)).status).toBe(202);
      const again = await resend(email.toUpperCase());
      expect(again).toMatchObject({ status: 429, body: { code: "too_many_requests" } });
      expect(Number(again.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(Number(again.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    }
  });

  it.each([
    [{ email: "none", subdomain: "x" }, ["email"]],
    [{ email: "a@people.example" }, ["subdomain"]],
    [{}, ["email", "subdomain"]],
  ])("%j is 422", async (body, fields) => {
    const answer = await service.call("POST", "/api/auth/resend-verification", { body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail.map(({ loc }: { loc: string[] }) => loc[1])).toEqual(fields);
  });
});

// Section 4.4 of the interface over HTTP, with a bot that is spoken to by a Bot API of the test's own.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type BotApi, botToken, codeIn, sentTo, startBotApi } from "../support/bot-api.ts";
import { withHolder } from "../support/holder.ts";
import { traceOf } from "../support/journal.ts";
import { askCode, linkChat, newChat, postCode, say, statusOf, subscribeTo } from "../support/messenger.ts";
import { type Answer, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser } from "../support/tenancy.ts";

let api: BotApi;
let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;

beforeAll(async () => {
  api = await startBotApi();
  service = await startService(api.settings);
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  await eventually(async () => (await statusOf(service, superadmin)).messenger === "ok");
});
afterAll(async () => {
  await service.stop();
  await api.stop();
});

/** Somebody new of the clinic, signed in. */
async function newPerson(role = "nurse"): Promise<{ id: number; token: string }> {
  const { id, email } = await makeUser(service, clinic.token, { role });
  return { id, token: await service.signInAs(email, clinic.subdomain) };
}

const unlinked = {
  linked: false,
  provider: "telegram",
  display_name: null,
  linked_at: null,
  events: [],
  messenger: "ok",
  bot: "records_bot",
};
const faultsOf = ({ status, body }: Answer) => [
  status,
  ...body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc.join("."), type]),
];

describe("linking", () => {
  it("takes the code that the chat was given, once", async () => {
    const { id, token } = await newPerson();
    expect(await statusOf(service, token)).toEqual(unlinked);
    const chatId = newChat();
    const code = await askCode(api, chatId);
    const { entries, events } = await traceOf(service, async () => {
      const answer = await postCode(service, token, code);
      expect(answer.status).toBe(200);
      expect(Object.keys(answer.body).slice(0, 5)).toEqual([
        "linked",
        "provider",
        "display_name",
        "linked_at",
        "events",
      ]);
      expect(answer.body).toMatchObject({ linked: true, provider: "telegram", events: [] });
      expect(answer.body.display_name).toBe(`Person ${chatId}`);
      expect(answer.body.linked_at).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
      expect(JSON.stringify(answer.body)).not.toContain(`"${chatId}"`);
    });
    expect(entries).toMatchObject([{ action: "messenger.link", target_type: "user", target_id: String(id) }]);
    expect(JSON.stringify(entries)).not.toContain(String(chatId));
    expect(events).toEqual([]);
    await eventually(async () => sentTo(api, chatId).some((text) => text.includes("now linked")));
    expect(await statusOf(service, token)).toMatchObject({ linked: true });
    const other = await newPerson();
    expect(await postCode(service, other.token, code)).toMatchObject({
      status: 400,
      body: { code: "invalid_code" },
    });
  });

  it.each([
    ["in small letters without the dash", (code: string) => code.toLowerCase().replace("-", "")],
    ["with spaces and another dash", (code: string) => ` ${code.replace("-", " – ")} `],
  ])("takes a code %s", async (_how, typed) => {
    const { token } = await newPerson();
    const code = await askCode(api, newChat());
    expect((await postCode(service, token, typed(code))).status).toBe(200);
  });

  it.each([
    ["the user is being blocked", "update users set is_active = false where id = $1"],
    ["the user is being deleted", "update users set deleted_at = now() where id = $1"],
    [
      "the tenant is being deactivated",
      "update tenants set is_active = false where id = (select tenant_id from users where id = $1)",
    ],
  ])("waits while %s, and then links nothing", async (_what, statement) => {
    const own = await makeClinic(service, superadmin);
    const { id, email } = await makeUser(service, own.token);
    const token = await service.signInAs(email, own.subdomain);
    const code = await askCode(api, newChat());
    const answer = await withHolder(service.database.url, async (holder) => {
      await holder.query(statement, [id]);
      return holder.commitBehind(() => postCode(service, token, code));
    });
    expect(answer.status).toBe(401);
    const { rows } = await service.database.owner.query("select from messenger_links where user_id = $1", [
      id,
    ]);
    expect(rows).toEqual([]);
  });

  it("all that is not a valid code is answered alike", async () => {
    const chatId = newChat();
    const older = await askCode(api, chatId);
    const expired = await askCode(api, chatId);
    expect(older).not.toBe(expired);
    await service.database.owner.query(
      "update messenger_codes set expires_at = now() - interval '1 second' where chat_id = $1",
      [chatId],
    );
    const stopped = newChat();
    const left = await askCode(api, stopped);
    await say(api, stopped, "/stop");
    const { token } = await newPerson();
    const bodies = [];
    for (const code of [older, expired, left, "BCDF-GHJK", ""]) {
      const answer = await postCode(service, token, code);
      expect(answer.status).toBe(400);
      bodies.push(answer.body);
    }
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(bodies[0]).toEqual({ detail: "The code is invalid or expired", code: "invalid_code" });
  });

  it("a sixth try within ten minutes is 429, with the right code too", async () => {
    const { token } = await newPerson();
    const code = await askCode(api, newChat());
    for (let n = 0; n < 5; n++) expect((await postCode(service, token, "BCDF-GHJK")).status).toBe(400);
    const answer = await postCode(service, token, code);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(60);
    const { token: another } = await newPerson();
    expect((await postCode(service, another, code)).status).toBe(200);
  });

  it("an account that is linked is 409, and the code stays good", async () => {
    const { token } = await newPerson();
    await linkChat(service, api, token);
    const code = await askCode(api, newChat());
    expect(await postCode(service, token, code)).toMatchObject({
      status: 409,
      body: { code: "already_linked" },
    });
    const { token: other } = await newPerson();
    expect((await postCode(service, other, code)).status).toBe(200);
  });

  it("a chat that is linked is 409", async () => {
    const { token } = await newPerson();
    const chatId = newChat();
    const code = await askCode(api, chatId);
    const { token: first } = await newPerson();
    const firstChat = await linkChat(service, api, first);
    // A code cannot be had for a linked chat: its row is turned to one by hand.
    await service.database.owner.query("update messenger_codes set chat_id = $1 where chat_id = $2", [
      firstChat,
      chatId,
    ]);
    expect(await postCode(service, token, code)).toMatchObject({
      status: 409,
      body: { code: "already_linked" },
    });
    expect(await statusOf(service, token)).toMatchObject({ linked: false });
  });

  it("of fifty posts of one code at once, by ten people, one links", async () => {
    const people = await Promise.all(Array.from({ length: 10 }, () => newPerson()));
    const code = await askCode(api, newChat());
    const answers = await Promise.all(
      people.flatMap(({ token }) => Array.from({ length: 5 }, () => postCode(service, token, code))),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400 || status === 409)).toHaveLength(49);
    const { rows } = await service.database.owner.query(
      "select count(*)::integer as links from messenger_links where user_id = any($1)",
      [people.map(({ id }) => id)],
    );
    expect(rows).toEqual([{ links: 1 }]);
  });

  it.each([
    ["nothing", {}, ["body.code", "missing"]],
    ["null", { code: null }, ["body.code", "string_type"]],
    ["a number", { code: 7 }, ["body.code", "string_type"]],
    ["too much", { code: "B".repeat(101) }, ["body.code", "string_too_long"]],
  ])("422 for %s", async (_case, body, fault) => {
    const answer = await service.call("POST", "/api/messenger/link", { token: superadmin, body });
    expect(faultsOf(answer)).toEqual([422, fault]);
  });
});

describe("unlinking", () => {
  it("is 200 whether or not there is a link, tells the chat and stops what is on its way", async () => {
    const { id, token } = await newPerson();
    const chatId = await linkChat(service, api, token);
    const { entries } = await traceOf(service, async () => {
      for (let n = 0; n < 2; n++) {
        const answer = await service.call("DELETE", "/api/messenger/link", { token });
        expect(answer).toMatchObject({ status: 200, body: unlinked });
      }
    });
    expect(entries).toMatchObject([
      { action: "messenger.unlink", target_id: String(id), changes: { reason: "user" } },
    ]);
    await eventually(async () => sentTo(api, chatId).some((text) => text.includes("no longer linked")));
    await linkChat(service, api, token, chatId);
    expect(await statusOf(service, token)).toMatchObject({ linked: true });
  });

  it("by /stop in the chat", async () => {
    const { token } = await newPerson();
    const chatId = await linkChat(service, api, token);
    expect(await say(api, chatId, "/stop")).toContain("no longer linked");
    expect(await statusOf(service, token)).toMatchObject({ linked: false, events: [] });
    expect(await say(api, chatId, "/stop")).toContain("not linked");
  });
});

describe("subscribing", () => {
  it("replaces the set, each kind once", async () => {
    const { token } = await newPerson("admin");
    await linkChat(service, api, token);
    const { entries } = await traceOf(service, async () => {
      const first = await subscribeTo(service, token, ["user.created", "*", "user.created"]);
      expect(first).toMatchObject({ status: 200, body: { linked: true, events: ["user.created", "*"] } });
      expect((await subscribeTo(service, token, ["payment.failed"])).body.events).toEqual(["payment.failed"]);
      expect((await subscribeTo(service, token, [])).body.events).toEqual([]);
    });
    expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
      ["messenger.subscribe", { events: ["user.created", "*"] }],
      ["messenger.subscribe", { events: ["payment.failed"] }],
      ["messenger.subscribe", { events: [] }],
    ]);
    expect((await statusOf(service, token)).events).toEqual([]);
  });

  it("is 429 after sixty times within an hour", async () => {
    const { id, token } = await newPerson();
    await linkChat(service, api, token);
    expect((await subscribeTo(service, token, ["patient.created"])).status).toBe(200);
    const text = "update rate_limits set points = 58 where key = $1";
    await service.database.owner.query(text, [`messenger_subscribe:${clinic.id}:${id}`]);
    expect((await subscribeTo(service, token, ["patient.updated"])).status).toBe(200);
    expect((await subscribeTo(service, token, ["record.created"])).status).toBe(200);
    expect(await subscribeTo(service, token, ["patient.created"])).toMatchObject({
      status: 429,
      body: { code: "too_many_requests" },
    });
    expect((await statusOf(service, token)).events).toEqual(["record.created"]);
  });

  it("is 409 without a link", async () => {
    const { token } = await newPerson();
    expect(await subscribeTo(service, token, ["patient.created"])).toMatchObject({
      status: 409,
      body: { code: "not_linked" },
    });
  });

  it.each([
    ["nurse", "payment.failed"],
    ["registrar", "user.created"],
    ["doctor", "department.created"],
    ["head_doctor", "backup.failed"],
    ["head_doctor", "webhook.disabled"],
  ])("a %s may not ask for %s (403), but for the star", async (role, kind) => {
    const { token } = await newPerson(role);
    await linkChat(service, api, token);
    const refused = await subscribeTo(service, token, ["patient.created", kind]);
    expect(refused).toMatchObject({ status: 403, body: { code: "event_not_allowed" } });
    expect(await subscribeTo(service, token, ["*"])).toMatchObject({ status: 200, body: { events: ["*"] } });
  });

  it.each([
    ["nothing", {}, ["body.events", "missing"]],
    ["no list", { events: "*" }, ["body.events", "list_type"]],
    ["an unknown kind", { events: ["user.created", "user.gone"] }, ["body.events.1", "literal_error"]],
    ["too many", { events: Array.from({ length: 51 }, () => "*") }, ["body.events", "too_long"]],
  ])("422 for %s", async (_case, body, fault) => {
    const answer = await service.call("POST", "/api/messenger/subscribe", { token: superadmin, body });
    expect(faultsOf(answer)).toEqual([422, fault]);
  });
});

describe("the chat's target", () => {
  it("is no webhook, whoever knows its number", async () => {
    const { id, token } = await newPerson("admin");
    await linkChat(service, api, token);
    await subscribeTo(service, token, ["*"]);
    const { rows } = await service.database.owner.query("select id from messenger_links where user_id = $1", [
      id,
    ]);
    const path = `/api/webhooks/${rows[0].id}`;
    for (const [method, tail, body] of [
      ["PUT", "", { is_active: false }],
      ["DELETE", ""],
      ["POST", "/test"],
      ["GET", "/deliveries"],
      ["POST", "/recover", { since: "2026-01-01" }],
    ] as const) {
      expect((await service.call(method, path + tail, { token, body })).status).toBe(404);
    }
    expect((await service.call("GET", "/api/webhooks", { token })).body).toEqual([]);
  });
});

describe("in chat", () => {
  it("/status and anything else are answered; an older code is void", async () => {
    const { token } = await newPerson();
    const chatId = newChat();
    expect(await say(api, chatId, "/status")).toContain("not linked");
    expect(await say(api, chatId, "hello")).toContain("/start");
    const first = await askCode(api, chatId);
    const second = await askCode(api, chatId);
    expect((await postCode(service, token, first)).status).toBe(400);
    expect((await postCode(service, token, second)).status).toBe(200);
    await subscribeTo(service, token, ["patient.created", "record.created"]);
    await eventually(async () => sentTo(api, chatId).some((text) => text.includes("now linked")));
    expect(await say(api, chatId, "/status")).toMatch(/Linked since \d{4}-\d\d-\d\d .* 2\./);
    expect(await say(api, chatId, "/start")).toContain("already linked");
  });

  it("a group gets no code", async () => {
    const group = -newChat();
    api.write(group, "/start@records_bot", undefined, "supergroup");
    const answer = await eventually(async () => sentTo(api, group)[0]);
    expect(answer).toContain("private");
    expect(codeIn(answer)).toBeUndefined();
    const { rows } = await service.database.owner.query("select from messenger_codes where chat_id = $1", [
      group,
    ]);
    expect(rows).toEqual([]);
  });

  it("who writes without end is answered ten times a minute", async () => {
    const chatId = newChat();
    for (let n = 0; n < 40; n++) api.write(chatId, "/status");
    await eventually(async () => api.pending() === 0);
    const jobs = "select count(*)::integer as jobs from graphile_worker._private_jobs";
    await eventually(async () => (await service.database.owner.query(jobs)).rows[0].jobs === 0);
    expect(sentTo(api, chatId)).toHaveLength(10);
  });

  it("no code and no token lies anywhere but where it must", async () => {
    const chatId = newChat();
    const code = await askCode(api, chatId);
    const { owner } = service.database;
    const { rows } = await owner.query(
      `select (select json_agg(c)::text from messenger_codes c) as codes,
        (select coalesce(json_agg(j), '[]')::text from graphile_worker._private_jobs j) as jobs,
        (select json_agg(b)::text from messenger_bots b) as bots, (select json_agg(a)::text from audit_entries a) as audit`,
    );
    const everything = JSON.stringify(rows) + service.process.output();
    expect(everything).not.toContain(code);
    expect(everything).not.toContain(code.replace("-", ""));
    expect(everything).not.toContain(botToken);
    expect(everything).not.toContain(botToken.split(":")[1]);
    expect(service.process.output()).not.toMatch(/Person \d{10}/);
  });
});

describe("who is not signed in", () => {
  it.each([
    ["POST", "/api/messenger/link"],
    ["DELETE", "/api/messenger/link"],
    ["GET", "/api/messenger/status"],
    ["POST", "/api/messenger/subscribe"],
  ])("%s %s is 401", async (method, path) => {
    expect((await service.call(method, path)).status).toBe(401);
  });

  it("updates are not taken at the door while they are asked for", async () => {
    const answer = await service.call("POST", "/webhooks/telegram", { body: { update_id: 1 } });
    expect(answer.status).toBe(404);
  });
});

describe("health", () => {
  it("says ok, and down while the messenger is", async () => {
    const health = async () => (await service.call("GET", "/api/admin/health", { token: superadmin })).body;
    expect(await health()).toMatchObject({ status: "ok", checks: { messenger: "ok" } });
    api.trouble = () => ({ status: 502, body: "<html>" });
    api.write(newChat(), "to end the poll");
    await eventually(async () => (await health()).checks.messenger === "down");
    expect(await health()).toMatchObject({ status: "degraded" });
    expect(await statusOf(service, superadmin)).toMatchObject({ messenger: "down" });
    api.trouble = () => undefined;
    await eventually(async () => (await health()).checks.messenger === "ok");
  });
});

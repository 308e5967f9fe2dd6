// Events reach linked chats: who is told what, in which words, and what happens when the messenger is in trouble.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type BotApi, botToken, failure, sentTo, startBotApi } from "../../support/bot-api.ts";
import { linkChat, newChat, statusOf, subscribeTo } from "../../support/messenger.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic, makeDepartment, makeUser, unique } from "../../support/tenancy.ts";

let api: BotApi;
let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
/** A patient of the clinic. */
let patient: number;

beforeAll(async () => {
  api = await startBotApi();
  service = await startService({ ...api.settings, WEBHOOK_RETRY_SECONDS: "3600,3600" });
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  const { email } = await makeUser(service, clinic.token, { role: "doctor", can_see_all_patients: true });
  const token = await service.signInAs(email, clinic.subdomain);
  const body = { record_number: unique("R-"), full_name: "Some Body" };
  patient = (await service.call("POST", "/api/patients", { token, body })).body.id;
  await eventually(async () => (await statusOf(service, superadmin)).messenger === "ok");
});
afterAll(async () => {
  await service.stop();
  await api.stop();
});
beforeEach(() => {
  api.trouble = () => undefined;
});

interface Person {
  id: number;
  token: string;
  chatId: number;
}

/** Somebody who sees all patients, and whose chat is linked and told of these events. */
async function listener(role: string, events: string[], at = clinic): Promise<Person> {
  const { id, email } = await makeUser(service, at.token, { role, can_see_all_patients: true });
  const token = await service.signInAs(email, at.subdomain);
  const chatId = await linkChat(service, api, token);
  const answer = await subscribeTo(service, token, events);
  if (answer.status !== 200) throw new Error(`subscribe: ${answer.status}`);
  return { id, token, chatId };
}

const tell = async (kind: string, payload: object, tenantId = clinic.id): Promise<void> => {
  await service.database.owner.query("insert into events (tenant_id, kind, payload) values ($1, $2, $3)", [
    tenantId,
    kind,
    JSON.stringify(payload),
  ]);
};
const toldOf = (chatId: number, kind: string) =>
  sentTo(api, chatId).filter((text) => text.includes(`(${kind})`));
const statesOf = async (userId: number): Promise<string[]> => {
  const { rows } = await service.database.owner.query(
    `select d.state, d.attempts from deliveries d join messenger_links l on l.tenant_id = d.tenant_id and l.id = d.target_id
     where l.user_id = $1 order by d.seq`,
    [userId],
  );
  return rows.map(({ state, attempts }) => `${state} ${attempts}`);
};
const queueIsEmpty = () =>
  eventually(async () => {
    const { rows } = await service.database.owner.query("select count(*)::integer as n from fan_out_queue");
    return rows[0].n === 0;
  });
const unlinkReason = async (userId: number): Promise<string | undefined> => {
  const { rows } = await service.database.owner.query(
    "select changes->>'reason' as reason from audit_entries where action = 'messenger.unlink' and target_id = $1",
    [String(userId)],
  );
  expect(rows.length).toBeLessThanOrEqual(1);
  return rows[0]?.reason;
};

describe("an event", () => {
  it("reaches a chat at once, also where webhooks wait before their first try", async () => {
    const person = await listener("doctor", ["patient.updated"]);
    const hook = await service.call("POST", "/api/webhooks/register", {
      token: clinic.token,
      body: { url: "https://receiver.example/hook", events: ["patient.updated"] },
    });
    expect(hook.status).toBe(201);
    // Either channel's worker may be the one that makes the deliveries of both: often enough, each is.
    for (let nth = 1; nth <= 12; nth++) {
      await tell("patient.updated", { patient_id: patient, version: nth });
      await eventually(async () => toldOf(person.chatId, "patient.updated").length === nth);
    }
    const { rows } = await service.database.owner.query(
      `select count(*)::integer as waiting from deliveries d join webhooks w on w.tenant_id = d.tenant_id and w.id = d.target_id
       where w.id = $1 and d.due_at between now() + interval '50 minutes' and now() + interval '80 minutes'`,
      [hook.body.id],
    );
    expect(rows).toEqual([{ waiting: 12 }]);
  });
  it("reaches those who asked for its kind, each once, with its ids", async () => {
    const [asked, all, other] = [
      await listener("doctor", ["patient.created"]),
      await listener("admin", ["*"]),
      await listener("nurse", ["record.created"]),
    ];
    await tell("patient.created", { patient_id: patient });
    await tell("payment.failed", { payment_id: "pay-1", amount: "1.00" });
    await eventually(async () => toldOf(all.chatId, "payment.failed").length === 1);
    await eventually(async () => toldOf(asked.chatId, "patient.created").length === 1);
    const lines = toldOf(asked.chatId, "patient.created")[0]?.split("\n") ?? [];
    expect(lines.slice(0, 2)).toEqual(["A patient was created (patient.created)", `patient_id: ${patient}`]);
    expect(lines[2]).toMatch(/^\d{4}-\d\d-\d\d [\d:]{8} UTC$/);
    expect(lines).toHaveLength(3);
    expect(toldOf(all.chatId, "patient.created")).toHaveLength(1);
    expect(sentTo(api, other.chatId).join()).not.toContain("patient.created");
    expect(sentTo(api, asked.chatId).join()).not.toContain("payment.failed");
    await eventually(async () => (await statesOf(asked.id)).join() === "succeeded 1");
    const plain = api.asked.filter(({ method }) => method === "sendMessage").map(({ body }) => body);
    expect(plain.join()).not.toContain("parse_mode");
  });

  it("of another tenant reaches nobody, and neither does what nobody asked for", async () => {
    const person = await listener("admin", ["*"]);
    const other = await makeClinic(service, superadmin);
    const quiet = await listener("admin", []);
    await tell("backup.failed", {}, other.id);
    await tell("backup.succeeded", {});
    await eventually(async () => toldOf(person.chatId, "backup.succeeded").length === 1);
    expect(toldOf(person.chatId, "backup.failed")).toEqual([]);
    expect(toldOf(quiet.chatId, "backup.succeeded")).toEqual([]);
  });

  it("the star tells each role what it may see", async () => {
    const [nurse, head] = [await listener("nurse", ["*"]), await listener("head_doctor", ["*"])];
    for (const kind of ["payment.failed", "user.updated", "department.updated", "record.created"])
      await tell(kind, { patient_id: patient });
    await eventually(async () => toldOf(head.chatId, "record.created").length === 1);
    await eventually(async () => toldOf(nurse.chatId, "record.created").length === 1);
    const kindsTold = (chatId: number) =>
      sentTo(api, chatId).flatMap((text) => /\(([a-z_]+\.[a-z_]+)\)/.exec(text)?.[1] ?? []);
    expect(kindsTold(nurse.chatId)).toEqual(["record.created"]);
    expect(kindsTold(head.chatId).sort()).toEqual(["department.updated", "record.created", "user.updated"]);
  });

  it("thirty patients' texts: not one of them leaves", async () => {
    const doctor = await listener("doctor", ["*"]);
    const department = await makeDepartment(service, clinic.token);
    const writer = await makeUser(service, clinic.token, { role: "doctor", department_id: department.id });
    const token = await service.signInAs(writer.email, clinic.subdomain);
    const canaries: string[] = [];
    const canary = () => canaries[canaries.push(`Kanarie${canaries.length}x`) - 1];
    const ids: number[] = [];
    for (let n = 0; n < 5; n++) {
      const created = await service.call("POST", "/api/patients", {
        token,
        body: { record_number: canary(), full_name: canary(), notes: canary(), birth_date: "1911-11-11" },
      });
      expect(created.status).toBe(201);
      ids.push(created.body.id);
      const path = `/api/patients/${created.body.id}`;
      const body = { version: 1, full_name: canary(), notes: canary() };
      expect((await service.call("PUT", path, { token, body })).status).toBe(200);
      const record = { kind: "visit", body: canary() };
      expect((await service.call("POST", `${path}/records`, { token, body: record })).status).toBe(201);
    }
    expect(canaries).toHaveLength(30);
    await eventually(async () => toldOf(doctor.chatId, "record.created").length === 5);
    await eventually(async () => toldOf(doctor.chatId, "patient.updated").length === 5);
    for (const id of ids) expect(sentTo(api, doctor.chatId).join()).toContain(`patient_id: ${id}`);
    const everything = JSON.stringify(api.asked) + service.process.output();
    for (const word of [...canaries, "1911-11-11"]) expect(everything).not.toContain(word);
  });
});

describe("who is told no more", () => {
  it("after unlinking, within a second", async () => {
    const person = await listener("admin", ["backup.failed"]);
    await service.call("DELETE", "/api/messenger/link", { token: person.token });
    await tell("backup.failed", {});
    await queueIsEmpty();
    expect(toldOf(person.chatId, "backup.failed")).toEqual([]);
    expect(await unlinkReason(person.id)).toBe("user");
  });

  it.each([
    ["a blocked user", "POST", "/block", "user_blocked"],
    ["a deleted user", "DELETE", "", "user_deleted"],
  ])("%s: from the very moment, and the link is gone", async (_who, method, tail, reason) => {
    const person = await listener("admin", ["backup.failed"]);
    // Held back by the messenger, so that it is still on its way when the user is gone.
    api.trouble = (called, { chat_id: to }) =>
      called === "sendMessage" && to === person.chatId ? failure(500, "Internal Server Error") : undefined;
    await tell("backup.failed", { backup_id: 1 });
    await eventually(async () => (await statesOf(person.id)).some((state) => state.startsWith("pending 1")));
    const answer = await service.call(method, `/api/admin/users/${person.id}${tail}`, {
      token: clinic.token,
    });
    expect(answer.status).toBeLessThan(300);
    api.trouble = () => undefined;
    await tell("backup.failed", { backup_id: 2 });
    await eventually(async () => (await unlinkReason(person.id)) === reason);
    await eventually(async () =>
      sentTo(api, person.chatId).some((text) => text.includes("no longer linked")),
    );
    await queueIsEmpty();
    expect(toldOf(person.chatId, "backup.failed")).toEqual([]);
    const { rows } = await service.database.owner.query("select from messenger_links where user_id = $1", [
      person.id,
    ]);
    expect(rows).toEqual([]);
    // The chat is free for another account.
    const { email } = await makeUser(service, clinic.token, { role: "nurse" });
    const token = await service.signInAs(email, clinic.subdomain);
    await linkChat(service, api, token, person.chatId);
  });

  it("a deactivated tenant's people, until it is active again", async () => {
    const other = await makeClinic(service, superadmin);
    const person = await listener("admin", ["backup.failed"], other);
    const put = (is_active: boolean) =>
      service.call("PUT", `/api/admin/tenants/${other.id}`, { token: superadmin, body: { is_active } });
    expect((await put(false)).status).toBe(200);
    await tell("backup.failed", { backup_id: 1 }, other.id);
    await queueIsEmpty();
    expect((await put(true)).status).toBe(200);
    await tell("backup.failed", { backup_id: 2 }, other.id);
    await eventually(async () => toldOf(person.chatId, "backup.failed").length > 0);
    expect(toldOf(person.chatId, "backup.failed")).toEqual([expect.stringContaining("backup_id: 2")]);
  });

  it("a deleted tenant's people: their chats are free", async () => {
    const other = await makeClinic(service, superadmin);
    const person = await listener("admin", ["*"], other);
    expect(
      (await service.call("DELETE", `/api/admin/tenants/${other.id}`, { token: superadmin })).status,
    ).toBe(204);
    await tell("backup.failed", {}, other.id);
    await eventually(async () => (await unlinkReason(person.id)) === "tenant_deleted");
    await queueIsEmpty();
    expect(toldOf(person.chatId, "backup.failed")).toEqual([]);
  });

  it("who has a lower role hears less, and all of it again with the role", async () => {
    const person = await listener("admin", ["*", "backup.failed"]);
    const setRole = async (role: string) => {
      const path = `/api/admin/users/${person.id}/role`;
      expect((await service.call("PUT", path, { token: clinic.token, body: { role } })).status).toBe(200);
      await eventually(async () => {
        const { rows } = await service.database.owner.query(
          `select t.events from delivery_targets t join messenger_links l on l.id = t.id where l.user_id = $1`,
          [person.id],
        );
        return rows[0].events.includes("*") === (role === "admin");
      });
    };
    await setRole("nurse");
    await tell("backup.failed", { backup_id: 1 });
    await tell("patient.created", { patient_id: patient });
    await eventually(async () => toldOf(person.chatId, "patient.created").length === 1);
    await setRole("admin");
    await tell("backup.failed", { backup_id: 2 });
    await eventually(async () => toldOf(person.chatId, "backup.failed").length === 1);
    expect(toldOf(person.chatId, "backup.failed")[0]).toContain("backup_id: 2");
  });
});

describe("the messenger in trouble", () => {
  it("a chat that blocked the bot is unlinked, the others are told", async () => {
    const [gone, stays] = [await listener("admin", ["fix.failed"]), await listener("admin", ["fix.failed"])];
    api.trouble = (method, { chat_id: to }) =>
      method === "sendMessage" && to === gone.chatId
        ? failure(403, "Forbidden: bot was blocked by the user")
        : undefined;
    await tell("fix.failed", { fix_id: 1 });
    await eventually(async () => toldOf(stays.chatId, "fix.failed").length === 1);
    await eventually(async () => (await unlinkReason(gone.id)) === "chat_gone");
    expect(await statusOf(service, gone.token)).toMatchObject({ linked: false });
  });

  it.each([
    ["chat not found", failure(400, "Bad Request: chat not found")],
    ["a deactivated user", failure(403, "Forbidden: user is deactivated")],
  ])("%s is the end of the link too", async (_case, answer) => {
    const person = await listener("admin", ["fix.applied"]);
    api.trouble = (method, { chat_id: to }) =>
      method === "sendMessage" && to === person.chatId ? answer : undefined;
    await tell("fix.applied", {});
    await eventually(async () => (await unlinkReason(person.id)) === "chat_gone");
  });

  it("the word that the bot was blocked unlinks at once", async () => {
    const person = await listener("admin", ["fix.applied"]);
    api.push({
      my_chat_member: {
        chat: { id: person.chatId, type: "private" },
        new_chat_member: { status: "kicked" },
      },
    });
    await eventually(async () => (await unlinkReason(person.id)) === "chat_gone");
  });

  it.each([
    ["500", failure(500, "Internal Server Error")],
    ["400 of another kind", failure(400, "Bad Request: strange")],
    ["no JSON", { status: 200, body: undefined }],
  ])("%s is tried again", async (_case, answer) => {
    const person = await listener("admin", ["restore.failed"]);
    let tries = 0;
    api.trouble = (method, { chat_id: to }) =>
      method === "sendMessage" && to === person.chatId && ++tries === 1 ? answer : undefined;
    await tell("restore.failed", { backup_id: 1 });
    await eventually(async () => toldOf(person.chatId, "restore.failed").length === 1);
    await eventually(async () => (await statesOf(person.id)).join() === "succeeded 2");
  });

  it("429 holds back all chats for as long as it says", async () => {
    const [first, second] = [await listener("admin", ["restore.failed"]), await listener("nurse", ["*"])];
    let limitedAt = 0;
    api.trouble = (method, { chat_id: to }) => {
      if (method !== "sendMessage" || to !== first.chatId || limitedAt > 0) return undefined;
      limitedAt = Date.now();
      return failure(429, "Too Many Requests: retry after 4", { retry_after: 4 });
    };
    await tell("restore.failed", {});
    await eventually(async () => limitedAt > 0);
    await tell("patient.created", { patient_id: patient });
    await eventually(async () => toldOf(first.chatId, "restore.failed").length === 1);
    await eventually(async () => toldOf(second.chatId, "patient.created").length === 1);
    const after = api.sent.filter(({ at }) => at > limitedAt);
    expect(after.length).toBeGreaterThanOrEqual(2);
    expect(Math.min(...after.map(({ at }) => at)) - limitedAt).toBeGreaterThanOrEqual(3_950);
  });

  it("one message a second to one chat, and none is lost", async () => {
    const person = await listener("admin", ["fix.applied"]);
    for (let n = 0; n < 6; n++) await tell("fix.applied", { fix_id: n });
    await eventually(async () => toldOf(person.chatId, "fix.applied").length === 6);
    const times = api.sent.filter(({ chat_id: to }) => to === person.chatId).map(({ at }) => at);
    for (const [n, at] of times.entries()) expect(at - (times[n - 1] ?? 0)).toBeGreaterThanOrEqual(950);
    const order = toldOf(person.chatId, "fix.applied").map((text) => /fix_id: (\d)/.exec(text)?.[1]);
    expect(order).toEqual(["0", "1", "2", "3", "4", "5"]);
  });

  it("a call that hangs is given up, tried again, and delays nobody else", async () => {
    const [slow, quick] = [await listener("admin", ["fix.failed"]), await listener("admin", ["fix.failed"])];
    let hung = 0;
    api.trouble = (method, { chat_id: to }) =>
      method === "sendMessage" && to === slow.chatId && ++hung === 1 ? "hang" : undefined;
    const startedAt = Date.now();
    await tell("fix.failed", {});
    await eventually(async () => toldOf(quick.chatId, "fix.failed").length === 1);
    expect(Date.now() - startedAt).toBeLessThan(5_000);
    await eventually(async () => toldOf(slow.chatId, "fix.failed").length === 1);
    expect(hung).toBe(2);
  });

  it("an update that is told twice acts once", async () => {
    const chatId = newChat();
    const message = {
      message: { chat: { id: chatId, type: "private" }, from: { first_name: "A" }, text: "/status" },
    };
    const id = api.push(message);
    await eventually(async () => sentTo(api, chatId).length === 1);
    await eventually(async () => api.pending() === 0);
    api.push({ ...message, update_id: id });
    await eventually(async () => api.pending() === 0);
    api.write(chatId, "/stop");
    await eventually(async () => sentTo(api, chatId).some((text) => text.includes("not linked. /start")));
    await eventually(async () => sentTo(api, chatId).length === 2);
    expect(sentTo(api, chatId)).toHaveLength(2);
  });

  it("an answer beyond all bounds is passed over, not stuck at", async () => {
    const chatId = newChat();
    api.push({ message: { chat: { id: chatId, type: "private" }, text: "x".repeat(5_000_000) } });
    api.write(chatId, "/status");
    await eventually(async () => sentTo(api, chatId).length === 1);
  });

  it("in all of this the token was printed nowhere", () => {
    expect(service.process.output()).not.toContain(botToken.split(":")[1]);
    expect(service.process.output()).not.toContain(`/bot${botToken.slice(0, 4)}`);
  });
});

// Where the messenger posts its updates: it is told where and with which secret, and only who shows that is heard.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type BotApi, sentTo, startBotApi } from "../../support/bot-api.ts";
import { newChat, postCode, statusOf } from "../../support/messenger.ts";
import { type Answer, eventually, startService, type TestService } from "../../support/service.ts";

let api: BotApi;
let service: TestService;
let secret: string;
let nextId = 1;

beforeAll(async () => {
  api = await startBotApi();
  service = await startService({ ...api.settings, TELEGRAM_WEBHOOK: "true" });
  secret = await eventually(async () => api.webhook?.["secret_token"] as string | undefined);
});
afterAll(async () => {
  await service.stop();
  await api.stop();
});

const post = (body: unknown, given: string | undefined = secret): Promise<Answer> =>
  service.call("POST", "/webhooks/telegram", {
    body,
    headers: given === undefined ? {} : { "x-telegram-bot-api-secret-token": given },
  });
const command = (chatId: number, text: string, id = nextId++) => ({
  update_id: id,
  message: { chat: { id: chatId, type: "private" }, from: { first_name: "Ada" }, text },
});
const updates = async (): Promise<number> =>
  (await service.database.owner.query("select count(*)::integer as n from messenger_updates")).rows[0].n;

it("the messenger is told the address, a secret, and how much is wanted", () => {
  expect(api.webhook).toMatchObject({
    url: "http://records.test/webhooks/telegram",
    secret_token: expect.stringMatching(/^[\w-]{43}$/),
    allowed_updates: ["message", "my_chat_member"],
  });
  expect(api.asked.map(({ method }) => method)).not.toContain("getUpdates");
  expect(service.process.output()).not.toContain(secret);
});

describe("an update", () => {
  it("with the secret acts, however often it comes at once", async () => {
    const chatId = newChat();
    const update = command(chatId, "/start");
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(update)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { received: true } });
    const code = await eventually(async () => /[A-Z]{4}-[A-Z]{4}/.exec(sentTo(api, chatId)[0] ?? "")?.[0]);
    const token = await service.signIn("doctor");
    expect((await postCode(service, token, code)).status).toBe(200);
    expect(await statusOf(service, token)).toMatchObject({
      linked: true,
      display_name: "Ada",
      messenger: "ok",
    });
    await eventually(async () => sentTo(api, chatId).length === 2);
    expect((await post(update)).status).toBe(200);
    expect(sentTo(api, chatId)).toHaveLength(2);
  });

  it.each([
    ["without a secret", undefined],
    ["with an empty one", ""],
    ["with a wrong one", "x".repeat(43)],
    ["with the beginning of the right one", "short"],
  ])("%s is 403 and is not taken in", async (_case, given) => {
    const before = await updates();
    const wrong = given === "short" ? secret.slice(0, 42) : given;
    const answer = await service.call("POST", "/webhooks/telegram", {
      body: command(newChat(), "/start"),
      headers: wrong === undefined ? {} : { "x-telegram-bot-api-secret-token": wrong },
    });
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(await updates()).toBe(before);
  });

  it.each([
    ["nothing", ""],
    ["no JSON", "{"],
    ["no object", "7"],
    ["no id", "{}"],
    ["an id that is none", '{"update_id":"x"}'],
  ])("with the secret and %s is 400", async (_case, body) => {
    expect(await post(body)).toMatchObject({ status: 400, body: { code: "malformed_update" } });
  });

  it("of a kind we do not know is taken, does nothing and leaves nothing", async () => {
    const before = await updates();
    const sent = api.sent.length;
    for (let n = 0; n < 20; n++)
      expect((await post({ update_id: nextId++, poll: { id: "1" } })).status).toBe(200);
    expect(await updates()).toBe(before);
    expect(api.sent).toHaveLength(sent);
  });

  it("of a chat that writes without end leaves nothing either, but /stop is still obeyed", async () => {
    const chatId = newChat();
    const before = await updates();
    for (let n = 0; n < 30; n++) await post(command(chatId, "/start"));
    expect(await updates()).toBe(before + 10);
    const codes = "select from messenger_codes where chat_id = $1";
    expect((await service.database.owner.query(codes, [chatId])).rows).toHaveLength(1);
    await post(command(chatId, "/stop"));
    expect((await service.database.owner.query(codes, [chatId])).rows).toHaveLength(0);
  });

  it("of more than 256 kB is 413", async () => {
    expect((await post("x".repeat(262_145))).status).toBe(413);
  });

  it("that comes late and out of order acts too", async () => {
    const [one, two] = [newChat(), newChat()];
    await post(command(one, "/status", 9_000));
    await post(command(two, "/status", 8_000));
    await eventually(async () => sentTo(api, one).length === 1 && sentTo(api, two).length === 1);
  });
});

it("health says so when the messenger is not reached", async () => {
  const token = await service.signIn("admin");
  const health = await service.call("GET", "/api/admin/health", { token });
  expect(health.body.checks.messenger).toBe("ok");
});

// Without a bot, and with one whose token is refused: the service runs, and says how it is.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type BotApi, startBotApi } from "../../support/bot-api.ts";
import { postCode, statusOf, subscribeTo } from "../../support/messenger.ts";
import { eventually, startService, type TestService } from "../../support/service.ts";

describe("without a token", () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await startService();
    token = await service.signIn("admin");
  });
  afterAll(() => service.stop());

  it("status and health say off, and health is ok", async () => {
    expect(await statusOf(service, token)).toEqual({
      linked: false,
      provider: "telegram",
      display_name: null,
      linked_at: null,
      events: [],
      messenger: "off",
      bot: null,
    });
    const { body } = await service.call("GET", "/api/admin/health", { token });
    expect(body).toMatchObject({ status: "ok", checks: { messenger: "off" } });
  });

  it("linking and subscribing are 409, said in a sentence, also for the sixth time: waiting does not help", async () => {
    for (let n = 0; n < 6; n++) {
      const answer = await postCode(service, token, "BCDF-GHJK");
      expect(answer).toMatchObject({
        status: 409,
        body: { detail: "No messenger is set up in this installation", code: "messenger_off" },
      });
      expect(answer.headers.get("retry-after")).toBeNull();
    }
    expect((await subscribeTo(service, token, ["*"])).status).toBe(409);
    expect((await service.call("DELETE", "/api/messenger/link", { token })).status).toBe(200);
    expect((await service.call("POST", "/webhooks/telegram", { body: { update_id: 1 } })).status).toBe(404);
  });

  it("what is wrong with a request is said first", async () => {
    expect((await postCode(service, token, null)).status).toBe(422);
    expect((await subscribeTo(service, token, ["nothing"])).status).toBe(422);
    expect((await service.call("GET", "/api/messenger/status")).status).toBe(401);
  });
});

describe("with a token that is refused", () => {
  let api: BotApi;
  let service: TestService;
  const wrong = "4712:canary-of-a-wrong-token";
  beforeAll(async () => {
    api = await startBotApi();
    service = await startService({ ...api.settings, TELEGRAM_BOT_TOKEN: wrong });
  });
  afterAll(async () => {
    await service.stop();
    await api.stop();
  });

  it("the service runs, health says down, the log says why and not the token", async () => {
    await service.process.printed(/"trouble":"refused"/);
    const token = await service.signIn("admin");
    const { body } = await service.call("GET", "/api/admin/health", { token });
    expect(body).toMatchObject({ status: "degraded", checks: { messenger: "down" } });
    expect(await statusOf(service, token)).toMatchObject({ messenger: "down", bot: null });
    await eventually(async () => api.asked.length >= 2);
    expect(api.asked.every(({ method }) => method === "getMe")).toBe(true);
    expect(service.process.output()).not.toContain(wrong);
    expect(service.process.output()).not.toContain("canary");
  });
});

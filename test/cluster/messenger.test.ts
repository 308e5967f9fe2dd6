// The messenger over the bus: a code posted at any gateway links, and what one process of services is told, all know.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type BotApi, sentTo, startBotApi } from "../support/bot-api.ts";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { askCode, newChat, postCode, statusOf, subscribeTo } from "../support/messenger.ts";
import { eventually } from "../support/service.ts";

let api: BotApi;
let cluster: Cluster;
let gateways: [Gateway, Gateway];

describeWithNats("two gateways and two processes of services", () => {
  beforeAll(async () => {
    api = await startBotApi();
    cluster = await startCluster();
    for (let n = 0; n < 2; n++) await cluster.startServices(api.settings);
    gateways = [await cluster.startGateway(), await cluster.startGateway()];
  });
  afterAll(async () => {
    await cluster?.stop();
    await api?.stop();
  });

  it("link at one, subscribe at the other, and be told", async () => {
    const [first, second] = gateways;
    const token = await signInAt(first, "admin");
    await eventually(async () => (await statusOf(first, token)).messenger === "ok");
    const chatId = newChat();
    const code = await askCode(api, chatId);
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, n) => postCode(n % 2 === 0 ? first : second, token, code)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(await statusOf(second, token)).toMatchObject({ linked: true });
    expect((await subscribeTo(second, token, ["department.created"])).status).toBe(200);
    const made = await first.call("POST", "/api/admin/departments", { token, body: { name: "Ward" } });
    await eventually(async () =>
      sentTo(api, chatId).some((text) => text.includes(`department_id: ${made.body.id}`)),
    );
    const health = await second.call("GET", "/api/admin/health", { token });
    expect(health.body.checks.messenger).toBe("ok");
    expect((await second.call("POST", "/webhooks/telegram", { body: { update_id: 1 } })).status).toBe(404);
  });
});

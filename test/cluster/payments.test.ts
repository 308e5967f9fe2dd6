// Payment notifications over the bus: the bytes arrive as they were sent, at whichever gateway and whichever process of
// services, and act once; without the services they are 503, so that the provider tries again.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { cardBody, cardSignature, paymentSettings, walletBody } from "../support/notifications.ts";
import { type Answer, eventually, type RunningProcess } from "../support/service.ts";

let cluster: Cluster;
let gateways: Gateway[];
let services: RunningProcess[];

const card = (gateway: Gateway, body: string) =>
  gateway.call("POST", "/webhooks/card-provider", {
    body: Buffer.from(body),
    headers: { "provider-signature": cardSignature(body) },
  });
const wallet = async (gateway: number, body: string): Promise<Answer> => {
  const answer = await gateways[gateway]?.call("POST", "/webhooks/wallet-provider", { body });
  if (answer === undefined) throw new Error("no such gateway");
  return answer;
};
const count = async (text: string): Promise<number> =>
  (await cluster.database.owner.query(text)).rows[0].count;

describeWithNats("two gateways and two processes of services", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    services = [await cluster.startServices(paymentSettings), await cluster.startServices(paymentSettings)];
    gateways = [await cluster.startGateway(), await cluster.startGateway()];
    for (const gateway of gateways)
      await eventually(
        async () => (await card(gateway, cardBody({ id: "warm", type: "other" }))).status === 200,
      );
  });
  afterAll(() => cluster?.stop(), 30_000);

  it("256 kB with letters beyond ASCII are verified as they were sent", async () => {
    const start = cardBody({ id: "large", paymentId: "pay-large" }).replace("{", '{"note":"Zoë 😀",');
    const body = start + " ".repeat(262_144 - Buffer.byteLength(start));
    for (const [at, gateway] of gateways.entries())
      expect(await card(gateway, body)).toMatchObject({ status: 200, body: { duplicate: at > 0 } });
  });

  it("a hundred at once of ten notifications of one payment have each one effect", async () => {
    const bodies = Array.from({ length: 10 }, (_, n) =>
      walletBody({
        id: `race-${n}`,
        paymentId: "pay-race",
        type: n % 2 === 0 ? "payment.succeeded" : "payment.refunded",
        occurredAt: new Date(1_790_000_000_000 + n * 1_000).toISOString(),
      }),
    );
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => wallet(n % 2, bodies[n % 10] ?? "")),
    );
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    expect(answers.filter((answer) => answer.body.duplicate === false)).toHaveLength(10);
    const { rows } = await cluster.database.owner.query(
      "select * from payments where payment_id = 'pay-race'",
    );
    expect(rows).toMatchObject([{ status: "refunded", occurred_at: new Date(1_790_000_009_000) }]);
    const applied = await count(
      "select count(*)::integer from payment_notifications where payment_id = 'pay-race' and state = 'applied'",
    );
    const entries = await count(
      "select count(*)::integer from audit_entries where action = 'payment.update' and target_id = 'pay-race'",
    );
    expect(entries).toBe(applied);
  });

  it("without the services it is 503 with Retry-After", async () => {
    for (const running of services) await running.stop();
    for (const gateway of gateways) {
      const answer = await card(gateway, cardBody({ id: "nobody-there" }));
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });
});

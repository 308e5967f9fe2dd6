// The inbox over time: before a secret is set and after, while PostgreSQL is away, and when its rows are swept.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../../host/embedded/postgres.ts";
import { traceOf } from "../../support/journal.ts";
import { cardBody, cardSignature, paymentSettings, walletBody } from "../../support/notifications.ts";
import {
  addressOf,
  type Answer,
  callApi,
  eventually,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";

let service: TestService;
let later: RunningProcess;
let restarted: EmbeddedPostgres | undefined;
let url: string;
beforeAll(async () => {
  service = await startService();
  url = service.url;
});
afterAll(async () => {
  await later?.stop();
  await restarted?.stop();
  await service.stop().catch(() => undefined);
});

const card = (body: string): Promise<Answer> =>
  callApi(url, "POST", "/webhooks/card-provider", {
    body,
    headers: { "provider-signature": cardSignature(body) },
  });
const wallet = (body: string) => callApi(url, "POST", "/webhooks/wallet-provider", { body });
const query = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;
const stateOf = async (id: string) =>
  (await query("select state from payment_notifications where notification_id = $1", [id]))[0]?.state;

const early = cardBody({ id: "early", paymentId: "pay-early" });

it("without a secret whatever comes is kept as unverified, once, and acts on nothing", async () => {
  const { events, entries } = await traceOf(service, async () => {
    expect(await card(early)).toMatchObject({ status: 200, body: { received: true, duplicate: false } });
    expect(await card(early)).toMatchObject({ status: 200, body: { received: true, duplicate: true } });
    expect(await wallet(walletBody({ id: "early-too" }))).toMatchObject({ status: 200 });
  });
  expect([await stateOf("early"), await stateOf("early-too")]).toEqual(["unverified", "unverified"]);
  expect([...events, ...entries, ...(await query("select from payments"))]).toEqual([]);
});

it("a contradiction of it is 409, in the platform's log", async () => {
  const { entries } = await traceOf(service, async () => {
    expect(await card(`${early} `)).toMatchObject({ status: 409, body: { code: "notification_differs" } });
  });
  const [platform] = await query("select id from tenants where subdomain = 'platform'");
  expect(entries).toMatchObject([{ action: "payment.conflict", tenant_id: platform?.id }]);
});

it("once a secret is set, the same notification acts, and one that nobody signed stands in nobody's way", async () => {
  await service.process.stop();
  later = runProcess({ ...service.settings, ...paymentSettings });
  url = await addressOf(later);
  const { events } = await traceOf(service, async () => {
    expect(await card(early)).toMatchObject({ status: 200, body: { duplicate: false } });
    expect(await card(early)).toMatchObject({ status: 200, body: { duplicate: true } });
    const other = walletBody({ id: "early-too", type: "payment.refunded" });
    expect(await wallet(other)).toMatchObject({ status: 200, body: { duplicate: false } });
  });
  expect([await stateOf("early"), await stateOf("early-too")]).toEqual(["applied", "applied"]);
  expect(events.map(({ kind }) => kind)).toEqual(["payment.succeeded", "payment.refunded"]);
});

it("notifications are swept after 90 days, but for those of tenants that are gone or never were", async () => {
  const replayed = cardBody({ id: "swept", paymentId: "pay-swept" });
  for (const body of [replayed, cardBody({ id: "orphan" }), cardBody({ id: "nobody", tenant: "never-was" })])
    expect((await card(body)).status).toBe(200);
  await query("update payment_notifications set tenant_id = 99999 where notification_id = 'orphan'");
  await query("update payment_notifications set received_at = now() - interval '91 days'");
  expect((await card(cardBody({ id: "young" }))).status).toBe(200);
  await query(
    "update payment_notifications set received_at = now() - interval '89 days' where notification_id = 'young'",
  );
  await query("select graphile_worker.add_job('payments.sweep')");
  await eventually(async () => (await stateOf("swept")) === undefined);
  const left = await query("select notification_id as id from payment_notifications order by 1");
  expect(left.map(({ id }) => id)).toEqual(["nobody", "orphan", "young"]);
  const before = await query("select * from payments order by id");
  const { events, entries } = await traceOf(service, async () => {
    expect(await card(replayed)).toMatchObject({ status: 200, body: { duplicate: false } });
  });
  expect([...events, ...entries]).toEqual([]);
  expect(await stateOf("swept")).toBe("stale");
  expect(await query("select * from payments order by id")).toEqual(before);
});

it("in production a missing secret is a line in the log, and no reason not to start", async () => {
  const production = { NODE_ENV: "production", HOST: "127.0.0.1", DEMO_MODE: "false" };
  const settings = { ...service.settings, ...production, ADMIN_PASSWORD: "Quiet-Harbour-58" };
  const running = runProcess({ ...settings, CARD_WEBHOOK_SECRETS: paymentSettings.CARD_WEBHOOK_SECRETS });
  try {
    await addressOf(running);
    // Log lines are written a little later than the address.
    await running.printed(/no secret is set/);
    const lines = running
      .output()
      .split("\n")
      .filter((line) => line.includes("no secret is set"));
    expect(lines.map((line) => JSON.parse(line).provider)).toEqual(["wallet"]);
  } finally {
    await running.stop();
  }
});

it("while PostgreSQL is away it is 503, never 200; when it is back the provider's next try is taken, once", async () => {
  const bodies = Array.from({ length: 20 }, (_, n) => cardBody({ id: `away-${n}` }));
  // Its connection breaks with the server.
  service.database.owner.on("error", () => {});
  await service.database.postgres.stop();
  const answers = await Promise.all(bodies.map(card));
  for (const { status, headers } of [...answers, await wallet(walletBody({ id: "away-wallet" }))]) {
    expect(status).toBe(503);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  }
  expect((await callApi(url, "POST", "/webhooks/card-provider", { body: early })).status).toBe(400);
  restarted = await startEmbeddedPostgres({
    dataDir: service.database.folder,
    password: "owner-password-of-tests",
    log: () => {},
  });
  await eventually(async () => (await card(bodies[0] ?? "")).status === 200);
  const again = await Promise.all(bodies.slice(1).map(card));
  expect(again.map(({ status, body }) => [status, body.duplicate])).toEqual(again.map(() => [200, false]));
});

// While no secret is set anybody may post notifications: what bounds them, and what a contradiction of one leaves behind.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { dailyLimits } from "../../../services/shared/limits/daily-limit.ts";
import { traceOf } from "../../support/journal.ts";
import { cardBody, cardSecret, cardSignature, walletBody } from "../../support/notifications.ts";
import { endRepeats } from "../../support/repeats.ts";
import { type Answer, eventually, startService, type TestService } from "../../support/service.ts";
import { unique } from "../../support/tenancy.ts";

let service: TestService;
/** Its card provider has a secret, its wallet provider none. */
let signed: TestService;
beforeAll(async () => {
  const proxy = { TRUST_PROXY: "127.0.0.1" };
  service = await startService({ ...proxy, RATE_UNSIGNED_PER_MINUTE: "5" });
  signed = await startService({ ...proxy, RATE_UNSIGNED_PER_MINUTE: "2", CARD_WEBHOOK_SECRETS: cardSecret });
});
afterAll(async () => {
  await service?.stop();
  await signed?.stop();
});

let address = 0;
const newAddress = () => `203.0.113.${++address}`;
const card = (body: string, from: string, at = service): Promise<Answer> =>
  at.call("POST", "/webhooks/card-provider", {
    body,
    headers: { "x-forwarded-for": from, "provider-signature": cardSignature(body) },
  });
const wallet = (body: string, from: string, at = service): Promise<Answer> =>
  at.call("POST", "/webhooks/wallet-provider", { body, headers: { "x-forwarded-for": from } });
const fresh = () => cardBody({ id: unique("n-") });
const sql = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;
const kept = async (): Promise<number> =>
  (await sql("select count(*)::integer as n from payment_notifications"))[0].n;
const setTaken = (kind: string, taken: number) =>
  sql("update daily_counts set taken = $2 where kind = $1 and day = (now() at time zone 'utc')::date", [
    kind,
    taken,
  ]);

function expectRefusal({ status, body, headers }: Answer, secondsMax: number): void {
  expect([status, body.code]).toEqual([429, "too_many_requests"]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(secondsMax);
}

describe("from one address", () => {
  it("so many a minute are taken, of both providers together; the next is refused and not kept", async () => {
    const from = newAddress();
    for (let n = 0; n < 4; n++) expect((await card(fresh(), from)).status).toBe(200);
    expect((await wallet(walletBody({ id: unique("w-") }), from)).status).toBe(200);
    const before = await kept();
    expectRefusal(await card(fresh(), from), 60);
    expectRefusal(await wallet(walletBody({ id: unique("w-") }), from), 60);
    expect(await kept()).toBe(before);
    expect((await card(fresh(), newAddress())).status).toBe(200);
  });

  it("what cannot be read takes nothing from the rate", async () => {
    const from = newAddress();
    for (let n = 0; n < 8; n++) expect((await card("{", from)).status).toBe(422);
    expect((await card(fresh(), from)).status).toBe(200);
  });

  it("what is signed is taken however much is not", async () => {
    const from = newAddress();
    for (let n = 0; n < 2; n++) await wallet(walletBody({ id: unique("w-") }), from, signed);
    expectRefusal(await wallet(walletBody({ id: unique("w-") }), from, signed), 60);
    for (let n = 0; n < 5; n++) expect((await card(fresh(), from, signed)).status).toBe(200);
  });
});

describe("in a day", () => {
  it.each([
    ["card", () => card(fresh(), newAddress())],
    ["wallet", () => wallet(walletBody({ id: unique("w-") }), newAddress())],
  ] as const)(
    "so many of the %s provider are taken, and then an incident is open",
    async (provider, post) => {
      const kind = `payments.unsigned_${provider}` as const;
      const limit = dailyLimits[kind];
      const token = await service.signIn("superadmin");
      const incidents = async () =>
        (await service.call("GET", "/api/admin/health", { token })).body.open_incidents;
      const before = await incidents();
      await post();
      await setTaken(kind, limit - 2);
      expect((await post()).status).toBe(200);
      expect((await post()).status).toBe(200);
      expect(await incidents()).toBe(before);
      const rows = await kept();
      const { entries } = await traceOf(service, async () => {
        expectRefusal(await post(), 86_400);
        expectRefusal(await post(), 86_400);
      });
      expect(await kept()).toBe(rows);
      expect(entries).toMatchObject([
        { action: "limit.reach", outcome: "error", changes: { limit: kind, bound: limit } },
      ]);
      expect(await incidents()).toBe(before + 1);
    },
  );
});

describe("a contradiction", () => {
  it("again and again is one entry, and one that says how often", async () => {
    await sql("delete from daily_counts");
    const from = newAddress();
    const ids = [unique("c-"), unique("c-")];
    for (const id of ids) await card(cardBody({ id }), newAddress());
    const contradict = (nth: number) => card(`${cardBody({ id: ids[nth % 2] ?? "" })} `, from);
    const { entries } = await traceOf(service, async () => {
      for (let nth = 0; nth < 5; nth++) expect((await contradict(nth)).status).toBe(409);
      expectRefusal(await contradict(5), 60);
    });
    const conflict = { action: "payment.conflict", outcome: "denied", ip: from };
    expect(entries).toMatchObject([{ ...conflict, target_id: ids[0], changes: { provider: "card" } }]);
    const later = await traceOf(service, () => endRepeats(service), "kept");
    expect(later.entries).toMatchObject([
      { ...conflict, target_id: null, changes: { provider: "card", times: 4 } },
    ]);
  });
});

describe("what was kept unsigned", () => {
  it("is swept after a week; what was signed stays", async () => {
    await sql("delete from payment_notifications");
    await sql(
      `insert into payment_notifications (provider, notification_id, type, body_hash, state, received_at)
       select 'card', state || days, 'payment.x', sha256('-'), state, now() - make_interval(days => days)
       from unnest(array['unverified', 'ignored']) state, unnest(array[6, 8, 89, 91]) days`,
    );
    await sql("select graphile_worker.add_job('payments.sweep')");
    await eventually(async () => (await kept()) === 4);
    expect(await sql("select notification_id as id from payment_notifications order by 1")).toEqual(
      ["ignored6", "ignored8", "ignored89", "unverified6"].map((id) => ({ id })),
    );
  });
});

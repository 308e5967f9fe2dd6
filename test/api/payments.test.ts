// Section 4.13 of the interface and `GET /api/admin/payments`, over HTTP: what providers are answered, and what becomes
// of what they told.
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  cardBody,
  type CardFacts,
  cardSecret,
  cardSignature,
  nowSeconds,
  paymentSettings,
  signedAs,
  walletBody,
  walletFields,
} from "../support/notifications.ts";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic } from "../support/tenancy.ts";
import { traceOf } from "../support/journal.ts";

let service: TestService;
let superadmin: string;
let admin: string;
beforeAll(async () => {
  service = await startService(paymentSettings);
  superadmin = await service.signIn("superadmin");
  admin = await service.signIn("admin");
});
afterAll(() => service.stop());

type Body = string | Uint8Array;
const card = (body: Body, signature: string | undefined = cardSignature(body)): Promise<Answer> =>
  service.call("POST", "/webhooks/card-provider", {
    body,
    ...(signature === undefined ? {} : { headers: { "provider-signature": signature } }),
  });
const unsigned = (body: Body) => service.call("POST", "/webhooks/card-provider", { body });
const tell = (facts: CardFacts) => card(cardBody(facts));
const wallet = (body: Body) => service.call("POST", "/webhooks/wallet-provider", { body });
const stateOf = async (id: string): Promise<string | undefined> => {
  const text = "select state from payment_notifications where notification_id = $1";
  return (await service.database.owner.query(text, [id])).rows[0]?.state;
};
const paymentOf = async (id: string) => {
  const { rows } = await service.database.owner.query("select * from payments where payment_id = $1", [id]);
  return rows[0];
};
let counter = 0;
const fresh = () => `n${++counter}`;

describe("200", () => {
  it("a signed card notification is received, and becomes a payment, an entry and an event", async () => {
    const { entries, events } = await traceOf(service, async () => {
      const answer = await tell({ id: "first", paymentId: "pay-1", currency: "eur" });
      expect(answer).toMatchObject({ status: 200, body: { received: true, duplicate: false } });
      expect(answer.headers.get("cache-control")).toBe("no-store");
    });
    const payment = await paymentOf("pay-1");
    expect(payment).toMatchObject({ status: "succeeded", amount: "1999", currency: "EUR", provider: "card" });
    expect(entries).toMatchObject([
      {
        action: "payment.update",
        target_id: "pay-1",
        outcome: "ok",
        user_id: null,
        tenant_id: payment.tenant_id,
      },
    ]);
    expect(events).toMatchObject([
      {
        kind: "payment.succeeded",
        tenant_id: payment.tenant_id,
        payload: { provider: "card", payment_id: "pay-1", amount: "1999", currency: "EUR", from: null },
      },
    ]);
  });
  it("a signed wallet notification is received, its amount kept digit by digit", async () => {
    const body = walletBody({ id: "w-first", paymentId: "wal-1", amount: "10.10", type: "payment.refunded" });
    expect(await wallet(body)).toMatchObject({ status: 200, body: { received: true, duplicate: false } });
    expect(await paymentOf("wal-1")).toMatchObject({
      status: "refunded",
      amount: "10.10",
      provider: "wallet",
    });
  });
  it("the same notification again is a duplicate without effect", async () => {
    const body = cardBody({ id: "again", paymentId: "pay-again" });
    await card(body);
    const { entries, events } = await traceOf(service, async () => {
      for (let n = 0; n < 3; n++)
        expect(await card(body)).toMatchObject({ status: 200, body: { received: true, duplicate: true } });
    });
    expect([...entries, ...events]).toEqual([]);
  });
  it("fifty at once of one notification have one effect", async () => {
    const body = walletBody({ id: "fifty", paymentId: "wal-fifty" });
    const { entries, events } = await traceOf(service, async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => wallet(body)));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect(answers.filter(({ body: { duplicate } }) => !duplicate)).toHaveLength(1);
    });
    expect(entries).toHaveLength(1);
    expect(events).toHaveLength(1);
  });
  it.each([
    ["spaces and line ends", (text: string) => text.replaceAll(",", " ,\r\n\t")],
    [
      "letters beyond ASCII, as they are and escaped",
      (text: string) => text.replace("{", '{"note":"Zoë\\u00e4 😀",'),
    ],
    ["numbers written in another way", (text: string) => text.replace("1999", "1999.0e0")],
    ["no media type of its own", (text: string) => `${text}\n`],
  ])("the bytes are verified as they were sent: %s", async (_name, alter) => {
    const id = fresh();
    const body = alter(cardBody({ id }));
    const answer = await service.call("POST", "/webhooks/card-provider", {
      body: Buffer.from(body),
      headers: { "provider-signature": cardSignature(body), "content-type": "application/octet-stream" },
    });
    expect(answer).toMatchObject({ status: 200, body: { duplicate: false } });
    expect(await paymentOf(`p-${id}`)).toMatchObject({ amount: "1999" });
  });
  it("a wallet's body is verified by its meaning, however it is laid out", async () => {
    const canonical =
      '{"data":{"amount":5,"currency":"EUR","metadata":{"tenant":"demo"},"payment_id":"laid-out"},"id":"laid","note":"Zoë","occurred_at":"2026-09-21T12:00:00Z","type":"payment.failed","é":1e+30}';
    const body = `{ "type":"payment.failed", "é":1000000000000000000000000000000.0, "signature":"${signedAs(canonical)}",
      "note":"Zo\\u00eb","id":"laid", "occurred_at":"2026-09-21T12:00:00Z",
      "data":{"payment_id":"laid-out","metadata":{"tenant":"demo"},"currency":"EUR","amount":5.0}}`;
    expect(await wallet(body)).toMatchObject({ status: 200 });
    expect(await paymentOf("laid-out")).toMatchObject({ status: "failed", amount: "5" });
  });
  it("any of several signatures and schemes may be the right one", async () => {
    const body = cardBody({ id: fresh() });
    const [t, right] = cardSignature(body).split(",");
    const header = `${t}, v0=abc,v1=${"0".repeat(64)},${right}`;
    expect(await card(body, header)).toMatchObject({ status: 200 });
  });
  it("what is of another type is kept and ignored, whatever else it holds", async () => {
    const { entries, events } = await traceOf(service, async () => {
      for (const id of ["other-card", "other-wallet"]) {
        const text = JSON.stringify({ id, type: "customer.created" });
        const signature = signedAs(text);
        const sent =
          id === "other-card" ? card(text) : wallet(JSON.stringify({ ...JSON.parse(text), signature }));
        expect(await sent).toMatchObject({ status: 200, body: { received: true, duplicate: false } });
        expect(await stateOf(id)).toBe("ignored");
      }
    });
    expect([...entries, ...events]).toEqual([]);
  });
  it("what names no tenant, a deleted or an inactive one is kept and acts on nothing", async () => {
    const gone = await makeClinic(service, superadmin);
    const asleep = await makeClinic(service, superadmin);
    await service.call("DELETE", `/api/admin/tenants/${gone.id}`, { token: superadmin });
    const body = { is_active: false };
    await service.call("PUT", `/api/admin/tenants/${asleep.id}`, { token: superadmin, body });
    const { entries, events } = await traceOf(service, async () => {
      for (const tenant of ["never-was", gone.subdomain, asleep.subdomain, "x'; drop table payments; --"]) {
        const id = `to-${tenant.slice(0, 40).replaceAll(" ", "")}`;
        expect(await tell({ id, tenant: tenant.replaceAll(" ", "") })).toMatchObject({ status: 200 });
        expect(await stateOf(id)).toBe(tenant === asleep.subdomain ? "inactive_tenant" : "unknown_tenant");
        expect(await paymentOf(`p-${id}`)).toBeUndefined();
      }
    });
    expect([...entries, ...events]).toEqual([]);
  });
  it("a token that is no good does not matter", async () => {
    const body = cardBody({ id: fresh() });
    const headers = { "provider-signature": cardSignature(body) };
    const answer = await service.call("POST", "/webhooks/card-provider", {
      body,
      headers,
      token: "nonsense",
    });
    expect(answer.status).toBe(200);
  });
});

describe("the order in which it happened counts", () => {
  const at = 1_790_100_000;
  it.each([
    ["older does not overwrite newer", ["succeeded", 20], ["failed", 10], "succeeded"],
    ["newer overwrites older", ["failed", 10], ["succeeded", 20], "succeeded"],
    ["refunded is not left for pending", ["refunded", 10], ["pending", 20], "refunded"],
    ["failed is not left for pending", ["failed", 10], ["pending", 20], "failed"],
    ["an older pending says nothing any more", ["succeeded", 20], ["pending", 10], "succeeded"],
    ["of two at one moment the further one holds", ["refunded", 10], ["succeeded", 10], "refunded"],
  ] as const)("%s", async (_name, first, second, status) => {
    for (const arrival of [
      [first, second],
      [second, first],
    ]) {
      const paymentId = `order-${fresh()}`;
      for (const [told, seconds] of arrival)
        await tell({ id: fresh(), paymentId, type: `payment.${told}`, created: at + seconds });
      expect(await paymentOf(paymentId)).toMatchObject({ status });
    }
  });
  it("an event is told of each new status and of nothing else", async () => {
    const paymentId = "told-once";
    const { events } = await traceOf(service, async () => {
      const told = ["pending", "succeeded", "succeeded", "pending", "refunded", "refunded"];
      for (const [n, type] of told.entries())
        await tell({ id: fresh(), paymentId, type: `payment.${type}`, created: at + n });
      await tell({ id: fresh(), paymentId, type: "payment.failed", created: at });
    });
    expect(events.map(({ kind }) => kind)).toEqual(["payment.succeeded", "payment.refunded"]);
  });
});

describe("400", () => {
  const sent = cardBody({ id: "never-kept" });
  const t = nowSeconds();
  it.each([
    ["no signature", undefined],
    ["an empty one", ""],
    ["another scheme alone", cardSignature(sent).replace("v1=", "v0=")],
    ["another secret", cardSignature(sent, "another-secret-altogether")],
    ["another body", cardSignature(`${sent} `)],
    ["another time than was signed", cardSignature(sent).replace(/t=\d+/, `t=${t - 1}`)],
    ["no time", cardSignature(sent).replace(/t=\d+,/, "")],
    ["two times", `t=1,${cardSignature(sent)}`],
    ["an hour ago", cardSignature(sent, cardSecret, t - 3_600)],
    ["an hour ahead", cardSignature(sent, cardSecret, t + 3_600)],
    ["a time that is none", cardSignature(sent, cardSecret, "now")],
    ["a signature cut off", cardSignature(sent).slice(0, -2)],
    ["a signature with something behind it", `${cardSignature(sent)}00`],
  ])("the card's signature: %s", async (_name, signature) => {
    const answer = signature === undefined ? await unsigned(sent) : await card(sent, signature);
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_signature" } });
    expect(await stateOf("never-kept")).toBeUndefined();
  });
  it("comes before a body that is malformed, for the card", async () => {
    for (const body of ["{", "", "[]", '{"id":1}', Buffer.from([0xff, 0xfe])])
      expect(await card(body, "t=1,v1=00")).toMatchObject({
        status: 400,
        body: { code: "invalid_signature" },
      });
  });
  const fields = walletFields({ id: "never-kept-either" });
  const right = signedAs(JSON.stringify(fields));
  it.each([
    ["none", {}],
    ["another", { signature: signedAs("{}") }],
    ["of another secret", { signature: signedAs(JSON.stringify(fields), "another-secret-altogether") }],
    ["no text", { signature: 1 }],
    ["a list", { signature: [right] }],
    ["for another amount", { signature: right, data: { amount: "0.01" } }],
    ["with one more field", { signature: right, more: null }],
  ])("the wallet's signature: %s", async (_name, more) => {
    const answer = await wallet(JSON.stringify({ ...fields, ...more }));
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_signature" } });
    expect(await stateOf("never-kept-either")).toBeUndefined();
  });
  const signedFields = (canonical: string) => `{"signature":"${signedAs(canonical)}",${canonical.slice(1)}`;
  it.each([
    ["broken JSON", "{"],
    ["nothing", ""],
    ["no object", "[]"],
    ["a text", '"x"'],
    ["no UTF-8", Buffer.from([0x7b, 0xff, 0x7d])],
    ["too deep", `{"a":${"[".repeat(33)}${"]".repeat(33)}}`],
    ["a key twice", '{"id":"a","id":"b","signature":"00"}'],
    ["a key twice, escaped", '{"id":"a","\\u0069d":"b"}'],
    ["a number beyond all doubles", '{"id":1e999}'],
    ["an id that no double holds", signedFields('{"id":9007199254740992}').replace("992}", "993}")],
    ["half a character", '{"id":"\\ud800"}'],
    ["NaN", '{"id":NaN}'],
    ["no id", signedFields('{"type":"payment.failed"}')],
    ["no moment", signedFields(JSON.stringify({ ...walletFields({ id: "m" }), occurred_at: "soon" }))],
    ["a negative amount", walletBody({ id: "m", amount: "-1" })],
    ["no currency", walletBody({ id: "m", currency: "euro" })],
    ["prototype tricks", signedFields('{"__proto__":{"id":"m","type":"x"}}')],
  ])("a malformed notification of the wallet: %s", async (_name, body) => {
    expect(await wallet(body)).toMatchObject({ status: 400, body: { code: "malformed_notification" } });
    expect(await stateOf("m")).toBeUndefined();
  });
});

describe("405 and 413", () => {
  it.each(["/webhooks/card-provider", "/webhooks/wallet-provider"])("%s", async (path) => {
    const answer = await service.call("GET", path);
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("POST");
    const large = await service.call("POST", path, { body: "x".repeat(262_145) });
    expect(large).toMatchObject({ status: 413, body: { code: "body_too_large" } });
  });
  it("256 kB are read", async () => {
    const body = cardBody({ id: "large" }).padEnd(262_144, " ");
    expect(await card(body)).toMatchObject({ status: 200 });
  });
});

describe("409", () => {
  it("the same id with other bytes is refused, recorded, and acts on nothing", async () => {
    await tell({ id: "taken", paymentId: "pay-taken" });
    const { entries, events } = await traceOf(service, async () => {
      const answer = await tell({ id: "taken", paymentId: "pay-taken", type: "payment.refunded" });
      expect(answer).toMatchObject({ status: 409, body: { code: "notification_differs" } });
    });
    expect(events).toEqual([]);
    expect(entries).toMatchObject([{ action: "payment.conflict", outcome: "denied", target_id: "taken" }]);
    expect(await paymentOf("pay-taken")).toMatchObject({ status: "succeeded" });
  });
  it("the same id at the other provider is another notification", async () => {
    await tell({ id: "both" });
    expect(await wallet(walletBody({ id: "both" }))).toMatchObject({
      status: 200,
      body: { duplicate: false },
    });
  });
});

describe("422", () => {
  const right = JSON.parse(cardBody({ id: "m422" }));
  const object = right.data.object;
  const withObject = (more: object) => ({ ...right, data: { object: { ...object, ...more } } });
  it.each([
    ["broken JSON", "{", [["body", "1"], "json_invalid"]],
    ["nothing", "", [["body"], "missing"]],
    ["a list", "[]", [["body"], "model_attributes_type"]],
    ["a key twice", '{"type":"a","type":"b","id":"c"}', [["body", "type"], "value_error"]],
    ["no id", { ...right, id: undefined }, [["body", "id"], "missing"]],
    ["an id that is none", { ...right, id: 7 }, [["body", "id"], "string_type"]],
    ["an id with a space", { ...right, id: "a b" }, [["body", "id"], "value_error"]],
    ["no data", { ...right, data: undefined }, [["body", "data"], "missing"]],
    ["data that is none", { ...right, data: 1 }, [["body", "data"], "model_attributes_type"]],
    ["half a unit", withObject({ amount: 0.5 }), [["body", "data", "object", "amount"], "value_error"]],
    ["no currency", withObject({ currency: null }), [["body", "data", "object", "currency"], "string_type"]],
    [
      "no tenant",
      withObject({ metadata: {} }),
      [["body", "data", "object", "metadata", "tenant"], "missing"],
    ],
    ["a moment that is none", { ...right, created: "now" }, [["body", "created"], "value_error"]],
  ])("a malformed notification of the card: %s", async (_name, body, [loc, type]) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await card(text);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc, type }]);
    expect(await stateOf("m422")).toBeUndefined();
  });
  it("names everything at once", async () => {
    const answer = await card('{"type":"payment.failed"}');
    expect(answer.body.detail.map(({ loc }: { loc: string[] }) => loc.join("."))).toEqual([
      "body.id",
      "body.created",
      "body.data",
    ]);
  });
});

describe("GET /api/admin/payments", () => {
  it("shows an administrator the tenant's own, a superadmin all, and a filter what it says", async () => {
    const clinic = await makeClinic(service, superadmin);
    const created = 1_790_200_000;
    for (const [n, type] of ["pending", "failed", "refunded"].entries())
      await tell({
        id: fresh(),
        paymentId: `l-${n}`,
        type: `payment.${type}`,
        created: created + n,
        tenant: clinic.subdomain,
      });
    const own = await service.call("GET", "/api/admin/payments", { token: clinic.token });
    expect(own).toMatchObject({ status: 200, body: { total: 3, page: 1, pages: 1 } });
    expect(own.body.items.map((item: { payment_id: string }) => item.payment_id)).toEqual([
      "l-2",
      "l-1",
      "l-0",
    ]);
    expect(own.body.items[0]).toEqual({
      id: expect.any(Number),
      tenant_id: clinic.id,
      provider: "card",
      payment_id: "l-2",
      status: "refunded",
      amount: "1999",
      currency: "EUR",
      occurred_at: new Date((created + 2) * 1000).toISOString(),
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    const asked = `/api/admin/payments?tenant_id=${clinic.id}&status=failed&provider=card&sort_by=id&sort_order=asc`;
    expect((await service.call("GET", asked, { token: superadmin })).body).toMatchObject({ total: 1 });
    expect(
      (await service.call("GET", "/api/admin/payments?provider=wallet", { token: clinic.token })).body.total,
    ).toBe(0);
    const all = await service.call("GET", "/api/admin/payments", { token: superadmin });
    expect(all.body.total).toBeGreaterThan(3);
    expect(
      (await service.call("GET", "/api/admin/payments", { token: admin })).body.items,
    ).not.toContainEqual(expect.objectContaining({ tenant_id: clinic.id }));
  });
  it.each([
    ["?limit=201", 422],
    ["?sort_by=amount", 422],
    ["?status=paid", 422],
    ["?provider=cash", 422],
    ["?page=100000", 422],
    ["?tenant_id=1", 403],
  ])("%s is %i", async (query, status) => {
    expect((await service.call("GET", `/api/admin/payments${query}`, { token: admin })).status).toBe(status);
  });
  it("is not for others", async () => {
    expect((await service.call("GET", "/api/admin/payments")).status).toBe(401);
    const token = await service.signIn("head_doctor");
    expect((await service.call("GET", "/api/admin/payments", { token })).status).toBe(403);
  });
});

it("the audit log is whole, and knows no secret", async () => {
  expect((await service.call("GET", "/api/admin/audit/verify", { token: admin })).body).toMatchObject({
    ok: true,
  });
  expect(service.process.output()).not.toContain(cardSecret);
});

describe("what superadmins see of the inbox", () => {
  const list = (query: string, token = superadmin) =>
    service.call("GET", `/api/admin/payments/notifications?${query}`, { token });

  it("the latest first, by state and provider, with those that act on nothing", async () => {
    const id = fresh();
    const text = JSON.stringify({ id, type: "customer.created", rate: 1 });
    await card(text);
    const { body } = await list("state=ignored&provider=card&limit=1");
    expect(Object.keys(body)).toEqual(["items", "total", "page", "limit", "pages"]);
    expect(body.items).toEqual([
      {
        provider: "card",
        notification_id: id,
        type: "customer.created",
        state: "ignored",
        tenant_id: null,
        payment_id: null,
        occurred_at: null,
        received_at: expect.stringMatching(/Z$/),
        body_sha256: createHash("sha256").update(text).digest("hex"),
      },
    ]);
    const { body: all } = await list("limit=200");
    expect(all.total).toBeGreaterThan(body.total);
    const moments = all.items.map(({ received_at }: { received_at: string }) => received_at);
    expect(moments).toEqual([...moments].sort().reverse());
    expect((await list("provider=wallet&state=unverified")).body).toMatchObject({ items: [], total: 0 });
    expect((await list("page=400")).body).toMatchObject({ items: [], total: all.total });
  });

  it("one payment with its history, in the order in which it happened", async () => {
    const paymentId = `history-${fresh()}`;
    const said = [
      ["payment.refunded", 30],
      ["payment.pending", 10],
      ["payment.succeeded", 20],
    ] as const;
    for (const [type, seconds] of said)
      await tell({ id: fresh(), paymentId, type, created: 1_790_200_000 + seconds });
    const { id } = await paymentOf(paymentId);
    const { status, body } = await service.call("GET", `/api/admin/payments/${id}`, { token: superadmin });
    expect([status, body.payment_id, body.status]).toEqual([200, paymentId, "refunded"]);
    expect(body.notifications.map(({ type }: { type: string }) => type)).toEqual([
      "payment.pending",
      "payment.succeeded",
      "payment.refunded",
    ]);
  });

  it("is for superadmins alone, and what is not there is 404", async () => {
    expect((await list("", admin)).status).toBe(403);
    const one = (id: number | string, token: string) =>
      service.call("GET", `/api/admin/payments/${id}`, { token });
    expect((await one(1, admin)).status).toBe(403);
    expect((await one(2_000_000_000, superadmin)).status).toBe(404);
    expect((await one("x", superadmin)).status).toBe(422);
    expect((await list("state=lost")).status).toBe(422);
  });
});

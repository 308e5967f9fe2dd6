// The pure decisions of delivering: what an answer means, when the next try is, whose turn it is, what is signed.
import { describe, expect, it } from "@jest/globals";
import { Webhook } from "standardwebhooks";
import type { Attempt, Delivery } from "../../../../mixins/deliveries/channel.ts";
import { TargetQueue } from "../../../../mixins/deliveries/target-queue.ts";
import { nextStateOf } from "../../../../mixins/deliveries/retry.rules.ts";
import { FairScheduler } from "../../../../mixins/deliveries/fair-scheduler.ts";
import { answerFault, retryAfterSeconds } from "../../../../services/webhooks/answer.rules.ts";
import { signatureOf } from "../../../../services/webhooks/sign.ts";
import {
  librarySentence,
  loggedUrl,
  signingKey,
  secretFault,
  secretOf,
} from "../../../../services/webhooks/webhooks.rules.ts";

describe("an answer", () => {
  it.each([
    [200, null],
    [204, null],
    [299, null],
    [199, "unexpected_status"],
    [300, "redirect"],
    [308, "redirect"],
    [400, "unexpected_status"],
    [410, "unexpected_status"],
    [500, "unexpected_status"],
  ])("%i is %s", (status, fault) => expect(answerFault(status)).toBe(fault));

  const now = Date.parse("2026-01-01T00:00:00Z");
  it.each([
    [429, "7", 7],
    [503, " 0 ", 0],
    [503, "Thu, 01 Jan 2026 00:01:00 GMT", 60],
    [503, "Wed, 31 Dec 2025 00:00:00 GMT", 0],
    [503, "soon", undefined],
    [503, "-5", undefined],
    [503, undefined, undefined],
    [500, "7", undefined],
    [200, "7", undefined],
  ])("%i with Retry-After %j asks for %s s", (status, header, seconds) => {
    const read = retryAfterSeconds(status, header, now);
    if (header === "-5") expect(read ?? 0).toBeGreaterThanOrEqual(0);
    else expect(read).toBe(seconds);
  });
});

describe("the next try", () => {
  const waits = [0, 5, 300];
  const failed = (retryAfter?: number): Attempt => ({
    outcome: "failed",
    statusCode: 500,
    durationMs: 1,
    error: "x",
    response: null,
    retryAfterSeconds: retryAfter,
  });
  it.each([
    ["after the first", failed(), 0, 0, { state: "pending", delaySeconds: 5 }],
    ["with all of the jitter", failed(), 0, 1, { state: "pending", delaySeconds: 6 }],
    ["after the second", failed(), 1, 0, { state: "pending", delaySeconds: 300 }],
    ["after the last", failed(), 2, 0, { state: "failed" }],
    ["long after the last", failed(), 9, 0, { state: "failed" }],
    ["when asked to wait", failed(60), 0, 0, { state: "pending", delaySeconds: 60 }],
    ["when asked to hurry", failed(1), 1, 0, { state: "pending", delaySeconds: 300 }],
    ["when asked to wait for ever", failed(1e9), 0, 0, { state: "pending", delaySeconds: 86_400 }],
    ["when it is gone", { ...failed(), outcome: "gone" as const }, 0, 0, { state: "failed" }],
    ["when it was delivered", { ...failed(), outcome: "delivered" as const }, 0, 0, { state: "succeeded" }],
  ])("%s", (_case, attempt, tries, chance, next) => {
    expect(nextStateOf(attempt, tries, waits, chance)).toEqual(next);
  });
});

describe("a secret", () => {
  const whsec = (bytes: number) => `whsec_${Buffer.alloc(bytes, 1).toString("base64")}`;
  it.each([whsec(24), whsec(64), "sixteen letters!", "x".repeat(256)])("%s will do", (secret) =>
    expect(secretFault(secret)).toBeUndefined(),
  );
  it.each([
    whsec(23),
    whsec(65),
    "whsec_",
    "whsec_====",
    "whsec_ä",
    `${whsec(24)} `,
    "tab\tin the middle",
    "ümlaut umlaut",
  ])("%j will not", (secret) => expect(secretFault(secret)).toBeDefined());
  it("made here will do, and has 32 bytes", () => {
    const secret = secretOf(Buffer.alloc(32, 9));
    expect(secretFault(secret)).toBeUndefined();
    expect(signingKey(secret).export()).toEqual(Buffer.alloc(32, 9));
  });
  it("signs as the scheme's own library does", () => {
    const secret = whsec(32);
    const at = new Date(1_700_000_000_000);
    expect(signatureOf("msg_1", 1_700_000_000, '{"a":1}', [signingKey(secret)])).toBe(
      new Webhook(secret).sign("msg_1", at, '{"a":1}'),
    );
  });
  it("is not in what is logged of an address", () => {
    expect(loggedUrl("https://a.example:8443/hook/token?token=x?y#z")).toBe("https://a.example:8443");
  });
});

describe("turns", () => {
  const delivery = (tenantId: number, targetId: number, seq: number): Delivery => ({
    id: `${targetId}-${seq}`,
    tenantId,
    targetId,
    seq,
    kind: "k",
    payload: "{}",
    occurredAt: "",
    attempts: 0,
    tries: 0,
  });
  function laneOf(tenantId: number, targetId: number, count: number): TargetQueue<string> {
    const lane = new TargetQueue<string>({ tenantId, targetId }, "0", 0);
    lane.settings = "open";
    for (let seq = 1; seq <= count; seq++) lane.fill(delivery(tenantId, targetId, seq));
    return lane;
  }
  const play = (lanes: TargetQueue<string>[], now = 0) => {
    const turns = new FairScheduler<string>();
    for (const lane of lanes) turns.add(lane);
    const started: string[] = [];
    turns.run(now, (_lane, { id }) => started.push(id));
    return { turns, started };
  };

  it("go from tenant to tenant, however many targets or deliveries one has", () => {
    const { started } = play([laneOf(1, 11, 50), laneOf(1, 12, 50), laneOf(2, 21, 3)]);
    expect(started.slice(0, 6)).toEqual(["11-1", "21-1", "12-1", "21-2", "11-2", "21-3"]);
  });
  it("stop at ten of one target, in the order of its numbers", () => {
    const { started } = play([laneOf(1, 11, 50)]);
    expect(started).toEqual(Array.from({ length: 10 }, (_, n) => `11-${n + 1}`));
  });
  it("stop at two hundred of one tenant and four hundred of all", () => {
    const lanes = (tenant: number) =>
      Array.from({ length: 50 }, (_, n) => laneOf(tenant, tenant * 100 + n, 20));
    expect(play(lanes(1)).started).toHaveLength(200);
    expect(play([1, 2, 3, 4].flatMap(lanes)).started).toHaveLength(400);
  });
  it("leave a target alone whose lease could end during a try, or whose settings are not known", () => {
    expect(play([laneOf(1, 11, 5)], 14_000).started).toEqual([]);
    const unknown = laneOf(1, 12, 5);
    unknown.settings = "later";
    expect(play([unknown]).started).toEqual([]);
  });
  it("come less often to a target that only fails, and as before after a success", () => {
    const lane = laneOf(1, 11, 50);
    const { turns, started } = play([lane]);
    for (let n = 0; n < 10; n++) {
      lane.ended(false);
      turns.ended(lane);
    }
    const again = () => turns.run(0, (_lane, { id }) => started.push(id));
    again();
    expect(started).toHaveLength(12);
    lane.ended(true);
    turns.ended(lane);
    again();
    expect(started).toHaveLength(12 + 9);
  });
});

describe("a secret, given to a library as the answer says", () => {
  const plain = "a plain secret of mine";
  const ofScheme = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  it.each([
    ["as it is", ofScheme, ofScheme, /this secret as it is/],
    ["in base64", plain, `whsec_${Buffer.from(plain).toString("base64")}`, /whsec_ and the base64/],
  ])("%s: its signature holds", (_name, secret, given, sentence) => {
    expect(librarySentence(secret)).toMatch(sentence);
    expect(librarySentence(secret)).not.toContain(secret);
    const body = '{"type":"user.created"}';
    const seconds = Math.floor(Date.now() / 1000);
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": String(seconds),
      "webhook-signature": signatureOf("msg_1", seconds, body, [signingKey(secret)]),
    };
    expect(new Webhook(given).verify(body, headers)).toEqual(JSON.parse(body));
  });
});

// The caller as it travels on the bus: what is not made here, or signed by a node of ours a moment ago, is nobody.
import { createHmac, hkdfSync } from "node:crypto";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { Caller, type CallerFacts, setBusKey } from "../../../../services/shared/caller.ts";

const secret = "bus-secret-of-these-tests-0123456789";
const facts: CallerFacts = {
  principal: {
    kind: "user",
    userId: 5,
    tenantId: 2,
    role: "nurse",
    departmentId: null,
    canSeeAllPatients: false,
    sessionId: "0b0c7a52-3f6e-4a55-9f0e-6f1d2c3b4a59",
    readAt: 1_800_000_000_000,
  },
  via: "api-gateway",
  requestId: "request-1",
  ip: "127.0.0.1",
  userAgent: "test",
};
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** What a node with this bus secret would put on the bus at that time. */
function sign(claims: object, busSecret = secret): string {
  const key = Buffer.from(hkdfSync("sha256", busSecret, "", "records bus caller v1", 32));
  const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return `${payload}.${createHmac("sha256", key).update(payload).digest("base64url")}`;
}

beforeAll(() => setBusKey(secret));

describe("a caller of this process", () => {
  const caller = new Caller(facts);

  it("is read as it is", () => {
    expect(Caller.read(caller)).toBe(caller);
    expect(caller.principal).toEqual(facts.principal);
  });

  it("through another service it is the same person by another way", () => {
    const through = caller.through("users");
    expect(through.facts).toEqual({ ...facts, via: "users" });
    expect(through.through("users")).toBe(through);
    expect(caller.facts.via).toBe("api-gateway");
  });

  it("the system is nobody's user", () => {
    const requestId = crypto.randomUUID();
    expect(Caller.system("mail", requestId).facts).toEqual({
      principal: { kind: "system" },
      via: "mail",
      requestId,
      ip: null,
      userAgent: null,
    });
  });
});

describe("over the bus", () => {
  it("serialising signs, and what was signed is read again", () => {
    const wire = JSON.parse(JSON.stringify({ caller: new Caller(facts) })).caller;
    expect(typeof wire).toBe("string");
    expect(Caller.read(wire)?.facts).toEqual(facts);
  });

  it("the tool of these tests signs as a node does", () => {
    expect(Caller.read(sign({ ...facts, iat: nowSeconds() }))?.facts).toEqual(facts);
  });

  it.each([
    [0, true],
    [-50, true],
    [20, true],
    [-62, false],
    [-3600, false],
    [40, false],
    [3600, false],
  ])("signed %d s from now, it is believed: %s", (offsetSeconds, believed) => {
    const read = Caller.read(sign({ ...facts, iat: nowSeconds() + offsetSeconds }));
    expect(read !== undefined).toBe(believed);
  });

  it("a foreign key signs for nobody", () => {
    expect(Caller.read(sign({ ...facts, iat: nowSeconds() }, `${secret}x`))).toBeUndefined();
  });

  it("every single altered character makes it nobody's", () => {
    const wire = new Caller(facts).toJSON();
    // Of the signature's last character only four bits count, so it is left out.
    for (let i = 0; i < wire.length - 1; i++) {
      const other = wire[i] === "A" ? "B" : "A";
      expect(Caller.read(wire.slice(0, i) + other + wire.slice(i + 1))).toBeUndefined();
    }
  });

  it("a raised role under the old signature is nobody's", () => {
    const [payload = "", mac = ""] = new Caller(facts).toJSON().split(".");
    const claims = JSON.parse(Buffer.from(payload, "base64url").toString());
    claims.principal.role = "superadmin";
    const forged = Buffer.from(JSON.stringify(claims)).toString("base64url");
    expect(Caller.read(`${forged}.${mac}`)).toBeUndefined();
  });

  it.each(["", ".", "a", "a.b", "a.b.c", "..", "null", "{}", `${"x".repeat(100_000)}.y`])(
    "the text %j is nobody",
    (text) => {
      expect(Caller.read(text)).toBeUndefined();
    },
  );

  it("a third part, or a cut signature, makes it nobody's", () => {
    const wire = new Caller(facts).toJSON();
    expect(Caller.read(`${wire}.x`)).toBeUndefined();
    expect(Caller.read(`${wire}.`)).toBeUndefined();
    expect(Caller.read(wire.slice(0, -10))).toBeUndefined();
    expect(Caller.read(wire.split(".")[0])).toBeUndefined();
  });
});

describe("what only looks like a caller is nobody", () => {
  const lookAlike = { facts, principal: facts.principal, through: () => lookAlike, toJSON: () => "" };
  const pretended = Object.create(Caller.prototype) as object;
  const parsed: unknown = JSON.parse(JSON.stringify({ facts, principal: facts.principal }));
  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a number", 1],
    ["true", true],
    ["an empty object", {}],
    ["a list", [facts]],
    ["the bare facts", { ...facts }],
    ["an object with all its properties", lookAlike],
    ["an object with its prototype", pretended],
    ["its structured clone", structuredClone(new Caller(facts))],
    ["its copy", Object.assign({}, new Caller(facts))],
    ["what came as JSON", parsed],
    ["a proxy of one", new Proxy(new Caller(facts), {})],
  ])("%s", (_name, value) => {
    expect(Caller.read(value)).toBeUndefined();
  });
});

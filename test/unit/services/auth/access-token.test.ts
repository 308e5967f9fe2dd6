// Access tokens against hostile ones: whatever is not exactly a token of ours that is valid now names no session.
import { createHash, createHmac, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { AccessTokens } from "../../../../services/auth/access-token.ts";
import { eventually } from "../../../support/service.ts";

const secret = "the-present-secret-of-these-tests-0123456789";
const previous = "the-previous-secret-of-these-tests-987654321";
const foreign = "a-secret-that-was-never-ours-000000000000000";
const ttlSeconds = 3600;
const sid = "0b0c7a52-3f6e-4a55-9f0e-6f1d2c3b4a59";
const tokens = new AccessTokens(secret, [previous], ttlSeconds);
const facts = { userId: 12, tenantId: 3, role: "doctor", sessionId: sid } as const;

const kidOf = (of: string) =>
  createHash("sha256").update("records jwt kid\0").update(of).digest("hex").slice(0, 16);
const nowSeconds = () => Math.floor(Date.now() / 1000);
const encode = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

const goodHeader = { alg: "HS256", typ: "JWT", kid: kidOf(secret) };
const goodClaims = () => ({
  tid: 3,
  role: "doctor",
  sid,
  iat: nowSeconds(),
  exp: nowSeconds() + ttlSeconds,
  aud: "records-api",
  iss: "records",
  sub: "12",
});

type Parts = { header?: unknown; claims?: unknown; key?: string | Buffer; hash?: string };

/** Signs whatever it is given, as an attacker's own tool would. */
function forge({ header = goodHeader, claims = goodClaims(), key = secret, hash = "sha256" }: Parts): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${createHmac(hash, key).update(signed).digest("base64url")}`;
}

const withHeader = (more: object) => forge({ header: { ...goodHeader, ...more } });
const withClaims = (more: object) => forge({ claims: { ...goodClaims(), ...more } });
function without(claim: string): string {
  const claims: Record<string, unknown> = goodClaims();
  delete claims[claim];
  return forge({ claims });
}

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const publicPem = rsa.publicKey.export({ type: "spki", format: "pem" }).toString();

function rs256(header: object): string {
  const signed = `${encode(header)}.${encode(goodClaims())}`;
  return `${signed}.${createSign("sha256").update(signed).sign(rsa.privateKey, "base64url")}`;
}

describe("a token of ours", () => {
  it("names its session", () => {
    expect(tokens.sessionOf(tokens.sign(facts))).toBe(sid);
  });

  it("the forging tool of these tests makes good tokens too", () => {
    expect(tokens.sessionOf(forge({}))).toBe(sid);
  });

  it("carries what clients are promised and nothing else", () => {
    const [header = "", claims = ""] = tokens.sign(facts).split(".");
    const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString());
    expect(read(header)).toEqual({ alg: "HS256", typ: "JWT", kid: kidOf(secret) });
    const iat = expect.any(Number);
    expect(read(claims)).toEqual({
      iss: "records",
      aud: "records-api",
      sub: "12",
      tid: 3,
      role: "doctor",
      sid,
      iat,
      exp: iat,
    });
    expect(read(claims).exp - read(claims).iat).toBe(ttlSeconds);
  });

  it("signed with the previous secret is accepted until it expires", () => {
    const before = new AccessTokens(previous, [], ttlSeconds);
    expect(tokens.sessionOf(before.sign(facts))).toBe(sid);
    const header = { ...goodHeader, kid: kidOf(previous) };
    const expired = { ...goodClaims(), iat: nowSeconds() - 100, exp: nowSeconds() - 1 };
    expect(tokens.sessionOf(forge({ header, key: previous, claims: expired }))).toBeUndefined();
  });

  it("is refused from its expiry on, also when it was good before", async () => {
    const brief = forge({ claims: { ...goodClaims(), exp: nowSeconds() + 2 } });
    expect(tokens.sessionOf(brief)).toBe(sid);
    expect(tokens.sessionOf(brief)).toBe(sid);
    await eventually(async () => tokens.sessionOf(brief) === undefined);
    expect(tokens.sessionOf(brief)).toBeUndefined();
  });

  it("is refused when it is older than tokens may be, whatever it says of its expiry", async () => {
    const old = forge({
      claims: { ...goodClaims(), iat: nowSeconds() - ttlSeconds + 2, exp: nowSeconds() + 9999 },
    });
    expect(tokens.sessionOf(old)).toBe(sid);
    await eventually(async () => tokens.sessionOf(old) === undefined);
  });

  it("being known does not make its like good", () => {
    const good = tokens.sign(facts);
    expect(tokens.sessionOf(good)).toBe(sid);
    for (const at of [5, good.indexOf(".") + 5, good.length - 5]) {
      const altered = good.slice(0, at) + (good[at] === "A" ? "B" : "A") + good.slice(at + 1);
      expect(tokens.sessionOf(altered)).toBeUndefined();
    }
    expect(tokens.sessionOf(`${good} `)).toBeUndefined();
  });

  it("thousands of them are verified one after the other, and the first again", () => {
    const signed = Array.from({ length: 2_100 }, (_, userId) => tokens.sign({ ...facts, userId }));
    expect(signed.every((token) => tokens.sessionOf(token) === sid)).toBe(true);
    expect(tokens.sessionOf(signed[0] ?? "")).toBe(sid);
  });

  it("is signed with the present secret only", () => {
    const onlyPrevious = new AccessTokens(previous, [], ttlSeconds);
    expect(onlyPrevious.sessionOf(tokens.sign(facts))).toBeUndefined();
  });

  it("the key's name does not tell the key", () => {
    expect(kidOf(secret)).not.toBe(createHash("sha256").update(secret).digest("hex").slice(0, 16));
  });
});

describe("no algorithm but ours", () => {
  const unsigned = (alg: unknown) => `${encode({ ...goodHeader, alg })}.${encode(goodClaims())}.`;
  it.each([
    ["none", unsigned("none")],
    ["None", unsigned("None")],
    ["NONE", unsigned("NONE")],
    ["nOnE without its last dot", unsigned("nOnE").slice(0, -1)],
    ["none, with a good signature", withHeader({ alg: "none" })],
    ["an empty name", withHeader({ alg: "" })],
    ["null", withHeader({ alg: null })],
    ["a list", withHeader({ alg: ["HS256"] })],
    ["hs256 in lower case", withHeader({ alg: "hs256" })],
    ["HS384", forge({ header: { ...goodHeader, alg: "HS384" }, hash: "sha384" })],
    ["HS512", forge({ header: { ...goodHeader, alg: "HS512" }, hash: "sha512" })],
    ["no name at all", forge({ header: { typ: "JWT", kid: kidOf(secret) } })],
    ["RS256 under our key's name", rs256({ ...goodHeader, alg: "RS256" })],
    ["ES256 with an HMAC", withHeader({ alg: "ES256" })],
    ["PS256 with an HMAC", withHeader({ alg: "PS256" })],
    ["HS256 keyed with a public key", forge({ key: publicPem })],
  ])("%s", (_name, token) => {
    expect(tokens.sessionOf(token)).toBeUndefined();
  });
});

describe("no header field that points elsewhere", () => {
  it.each([
    ["crit of something unknown", { crit: ["exp"], exp: 1 }],
    ["crit, empty", { crit: [] }],
    ["b64 false", { b64: false, crit: ["b64"] }],
    ["jwk", { jwk: rsa.publicKey.export({ format: "jwk" }) }],
    ["jku", { jku: "https://attacker.example/keys" }],
    ["x5u", { x5u: "https://attacker.example/cert" }],
    ["x5c", { x5c: ["MIIB"] }],
    ["zip", { zip: "DEF" }],
    ["cty", { cty: "JWT" }],
    ["kid as a path", { kid: "../../../../dev/null" }],
    ["kid as SQL", { kid: "' or 1=1 --" }],
    ["kid of a foreign key", { kid: kidOf(foreign) }],
    ["kid of the previous key under the present one", { kid: kidOf(previous) }],
    ["kid empty", { kid: "" }],
    ["kid a number", { kid: 1 }],
    ["kid __proto__", { kid: "__proto__" }],
    ["kid constructor", { kid: "constructor" }],
    ["kid null", { kid: null }],
    ["typ of another kind", { typ: "at+jwt" }],
    ["typ absent", { typ: undefined }],
  ])("%s", (_name, more) => {
    expect(tokens.sessionOf(withHeader(more))).toBeUndefined();
  });

  it.each([null, [], "HS256", 1])("a header that is %j", (header) => {
    expect(tokens.sessionOf(forge({ header: JSON.stringify(header) }))).toBeUndefined();
  });
});

describe("no claims but whole ones", () => {
  it.each(["exp", "iat", "aud", "iss", "sub", "tid", "sid"])("without %s", (claim) => {
    expect(tokens.sessionOf(without(claim))).toBeUndefined();
  });

  it.each([
    ["exp passed", { exp: nowSeconds() - 1 }],
    ["exp 9999", { exp: 9999 }],
    ["exp as text", { exp: String(nowSeconds() + 100) }],
    ["exp negative", { exp: -1 }],
    ["exp null", { exp: null }],
    ["iat an hour ahead", { iat: nowSeconds() + 3600, exp: nowSeconds() + 7200 }],
    ["iat older than any token of ours lives", { iat: nowSeconds() - ttlSeconds - 5, exp: 253_402_300_799 }],
    ["iat as text", { iat: String(nowSeconds()) }],
    ["nbf ahead", { nbf: nowSeconds() + 600 }],
    ["aud of another service", { aud: "other-api" }],
    ["aud a list of ours", { aud: ["records-api"] }],
    ["aud a list with ours", { aud: ["other", "records-api"] }],
    ["aud empty", { aud: "" }],
    ["aud a number", { aud: 1 }],
    ["iss of another service", { iss: "records2" }],
    ["iss a list", { iss: ["records"] }],
    ["sub a number", { sub: 12 }],
    ["sub null", { sub: null }],
    ["tid as text", { tid: "3" }],
    ["tid a fraction", { tid: 3.5 }],
    ["tid null", { tid: null }],
    ["sid a number", { sid: 7 }],
    ["sid SQL", { sid: "' or true --" }],
    ["sid in capitals", { sid: sid.toUpperCase() }],
    ["sid with a line after it", { sid: `${sid}\n` }],
    ["sid a list", { sid: [sid] }],
    ["sid empty", { sid: "" }],
  ])("%s", (_name, more) => {
    expect(tokens.sessionOf(withClaims(more))).toBeUndefined();
  });

  it.each(["null", "[]", '"text"', "12", "", "{", "{}"])("a payload %j", (claims) => {
    expect(tokens.sessionOf(forge({ claims }))).toBeUndefined();
  });
});

describe("no other signature", () => {
  const good = tokens.sign(facts);
  const [head = "", body = "", mac = ""] = good.split(".");
  const other = tokens.sign({ ...facts, sessionId: randomUUID() });
  const changedMac = Buffer.from(mac, "base64url");
  changedMac[0] = (changedMac[0] ?? 0) ^ 1;
  it.each([
    ["a foreign secret", forge({ key: foreign })],
    ["an empty secret", forge({ key: "" })],
    ["the key's name as the secret", forge({ key: kidOf(secret) })],
    ["one bit changed", `${head}.${body}.${changedMac.toString("base64url")}`],
    ["cut short", good.slice(0, -1)],
    ["missing", `${head}.${body}.`],
    ["of another token", `${head}.${body}.${other.split(".")[2]}`],
    ["over other claims", `${head}.${other.split(".")[1]}.${mac}`],
    ["in hex", `${head}.${body}.${Buffer.from(mac, "base64url").toString("hex")}`],
    ["padded", `${good}=`],
    ["with a fourth part", `${good}.${mac}`],
    ["with two parts", `${head}.${body}`],
    ["with a space before", ` ${good}`],
    ["with a line after", `${good}\n`],
    ["twice", `${good}${good}`],
    ["an encrypted token's five parts", `${head}.a.b.c.${mac}`],
  ])("%s", (_name, token) => {
    expect(tokens.sessionOf(token)).toBeUndefined();
  });

  it.each([
    "",
    ".",
    "..",
    "...",
    "a.b.c",
    "null",
    "Bearer x.y.z",
    "\0.\0.\0",
    "💥.💥.💥",
    `${encode("{")}.x.y`,
    `${encode("null")}.x.y`,
  ])("what is no token at all: %j", (token) => {
    expect(tokens.sessionOf(token)).toBeUndefined();
  });

  it("a good token of 8 kB is refused for its length, before any work", () => {
    const long = withClaims({ pad: "x".repeat(8000) });
    expect(long.length).toBeGreaterThan(8192);
    expect(tokens.sessionOf(long)).toBeUndefined();
    expect(tokens.sessionOf("x".repeat(10_000_000))).toBeUndefined();
  });
});

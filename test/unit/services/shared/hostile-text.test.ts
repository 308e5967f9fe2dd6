// What reads foreign text, against texts that hurt readers: at its greatest length each takes linear time. The patterns
// among it are proved to be linear (test/contract/patterns.test.ts); here is all the rest as well: plain code, Node's
// own parsers, and the libraries.
import { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { describe, expect, it } from "@jest/globals";
import { clientAddressOf, proxiesIn } from "../../../../services/api-gateway/client-address.ts";
import type { GatewayRequest } from "../../../../services/api-gateway/gateway-request.ts";
import { requestIdOf } from "../../../../services/api-gateway/request-id.ts";
import { routes } from "../../../../services/api-gateway/routes.ts";
import { notRouted } from "../../../../services/api-gateway/routing.ts";
import { AccessTokens } from "../../../../services/auth/access-token.ts";
import { readNewKey } from "../../../../services/crypto/new-key.rules.ts";
import { escapeHtml, oneLine } from "../../../../services/mail/letter.ts";
import { readCode } from "../../../../services/messenger/code.rules.ts";
import { readUpdate } from "../../../../services/messenger/update.rules.ts";
import { normaliseName, normalisePhone } from "../../../../services/shared/sealing/blind-index.ts";
import { phoneFault } from "../../../../services/patients/patients.rules.ts";
import { cardProvider } from "../../../../services/payments/card-provider.ts";
import { walletProvider } from "../../../../services/payments/wallet-provider.ts";
import { readTarget } from "../../../../mixins/outbound/target.ts";
import { parseJsonBody } from "../../../../services/shared/params/json-body.ts";
import { parseQuery } from "../../../../services/shared/params/query.ts";
import {
  dateOrTime,
  dictionary,
  email,
  flag,
  id,
  text,
  url,
} from "../../../../services/shared/params/rules.ts";
import { passwordFault } from "../../../../services/shared/passwords/password-policy.ts";
import { addressKey } from "../../../../services/shared/rate-limits.ts";
import { withoutTrailing } from "../../../../services/shared/trailing.ts";
import { subdomainFault } from "../../../../services/tenants/tenants.rules.ts";
import { retryAfterSeconds } from "../../../../services/webhooks/answer.rules.ts";
import { secretFault } from "../../../../services/webhooks/webhooks.rules.ts";
import { readOne } from "./params/read-one.ts";
import { growthOf } from "../../../support/growth.ts";

const body = 1_048_576;
const notification = 262_144;
const header = 16_384;

const tryIt = (work: () => void) => {
  try {
    work();
  } catch {
    // A refusal; here only its price counts.
  }
};
const requestWith = (headers: Record<string, string>, path = "/"): GatewayRequest => {
  const socket = new Socket();
  Object.defineProperty(socket, "remoteAddress", { value: "10.0.0.1" });
  const request = Object.assign(new IncomingMessage(socket), {
    requestId: "",
    context: { requestId: "", span: undefined },
    clientIp: null,
    $params: {},
  });
  Object.assign(request, { url: path });
  Object.assign(request.headers, headers);
  return request;
};
const proxied = clientAddressOf(proxiesIn(["10.0.0.0/8"]), () => {});
const tokens = new AccessTokens("s".repeat(40), [], 60);
const about = { email: "ada@clinic.example", fullName: "Ada Lovelace", subdomain: "clinic" };
const delivery = (content: string, signature?: string) => ({
  bytes: Buffer.from(content),
  signature,
  nowMs: Date.now(),
});

type Reader = readonly [name: string, lengthMax: number, read: (text: string) => void];

const readers: readonly Reader[] = [
  ["a URL", 2_048, (given) => readOne(url(), given)],
  ["a URL in a whole body", body, (given) => readOne(url(), given)],
  ["an e-mail address", body, (given) => readOne(email(), given)],
  ["a moment", body, (given) => readOne(dateOrTime(), given)],
  ["an id", body, (given) => readOne(id(), given)],
  ["a flag", body, (given) => readOne(flag(), given)],
  ["a name", body, (given) => readOne(text({ max: 200, trim: true }), given)],
  ["a long text", body, (given) => readOne(text({ max: 100_000 }), given)],
  ["a text with a pattern", body, (given) => readOne(text({ pattern: /^[A-Za-z]{3}$/ }), given)],
  [
    "free settings",
    65_536,
    (given) => readOne(dictionary({ maxBytes: 65_536, maxDepth: 8 }), { [given]: [given] }),
  ],
  ["JSON", body, (given) => parseJsonBody(Buffer.from(given))],
  ["JSON that breaks late", body, (given) => parseJsonBody(Buffer.from(`{"a":${JSON.stringify(given)},}`))],
  ["a query", header, (given) => parseQuery(given)],
  ["a path", header, (given) => notRouted(requestWith({}, `/api/${given}`))],
  ["X-Request-Id", header, (given) => requestIdOf(requestWith({ "x-request-id": given }))],
  ["X-Forwarded-For", header, (given) => proxied(requestWith({ "x-forwarded-for": given }))],
  ["an address", header, (given) => addressKey(given)],
  ["a token", header, (given) => tokens.sessionOf(given)],
  ["a card notification", notification, (given) => tryIt(() => cardProvider.read(delivery(given), []))],
  [
    "a wallet notification",
    notification,
    (given) => tryIt(() => walletProvider.read(delivery(given), ["x".repeat(16)])),
  ],
  [
    "a field of a wallet notification",
    notification,
    (given) => tryIt(() => walletProvider.read(delivery(JSON.stringify({ id: given, [given]: 1 })), [])),
  ],
  [
    "Provider-Signature",
    header,
    (given) => tryIt(() => cardProvider.read(delivery("{}", given), ["x".repeat(16)])),
  ],
  ["a password", 1_024, (given) => passwordFault(given, about)],
  ["a password like the name", 200, (given) => passwordFault("Ada-Lovelace", { ...about, fullName: given })],
  ["a subdomain", body, (given) => subdomainFault(given)],
  ["a phone number", body, (given) => [phoneFault(given), normalisePhone(given)]],
  ["a name that is searched", body, (given) => normaliseName(given)],
  ["a new key", body, (given) => readNewKey(given)],
  ["a webhook's secret", body, (given) => secretFault(given)],
  ["a webhook's address", body, (given) => readTarget(given)],
  ["a receiver's Retry-After", header, (given) => retryAfterSeconds(503, given, 0)],
  ["what a receiver answered", 65_536, (given) => withoutTrailing(given, "\ufffd")],
  [
    "a chat's message",
    body,
    (given) =>
      readUpdate({
        update_id: 1,
        message: { chat: { id: 1, type: "private", first_name: given }, text: given },
      }),
  ],
  ["a code", body, (given) => readCode(given)],
  ["a name in a mail", body, (given) => escapeHtml(oneLine(given))],
];

/** What a text is made of: a beginning, a piece that repeats, an end. */
const shapes: readonly (readonly [beginning: string, piece: string, end: string])[] = [
  ...[
    "a",
    "A",
    "0",
    "9",
    ".",
    "-",
    "_",
    "+",
    "/",
    "\\",
    ":",
    ";",
    ",",
    "=",
    "@",
    "[",
    "]",
    "{",
    '"',
    " ",
    "\t",
    "\n",
    "%",
  ].flatMap((piece) => [["", piece, ""] as const, ["1", piece, "1!"] as const]),
  ["", "\u0301", "x"],
  ["", "e\u0301\u0327", "x"],
  ["", "\ud83d\ude00", "x"],
  ["", "\ufffd", "x"],
  ["", "\u0000", "x"],
  ["", "\u200d", "x"],
  ["", "\ud800", ""],
  ["", "a.", "@"],
  ["a@", "a-", ""],
  ["a@", "a.", "!"],
  ["a@", "xn--a.", "com"],
  ["a@", "ß.", "com"],
  ["a@", "ü", ".com"],
  ["https://", "a:", "]"],
  ["https://", "@", "]"],
  ["https://[", ":", "]"],
  ["https://", "%41", "/"],
  ["https://a/", "../", "%"],
  ["2020-01-01T00:00:00.", "0", "1Z"],
  ["", "1_", "x"],
  ["", "a=b&", ""],
  ["", "a[]=&", "%"],
  ["", "1.2.3.4,", "x"],
  ["", "::ffff:", "1.2.3.4"],
  ["Bearer ", "a.", " !"],
  ["t=1,", "v1=0,", "t"],
  ["", "W/", '"'],
  ["", "A7", "=="],
  ["", "B-", "!"],
  ["/start", "@a", " "],
  ["[", "[],", "1]"],
  ["[", "1,", "1]"],
  ["[", '"\\u0041",', "1]"],
  ["[1", "0", "1]"],
  ["[0.", "0", "1]"],
  ["[1e", "0", "1]"],
  ['{"a":1', " ", ',"b":2}'],
  ['{"', "\\\\", '":1}'],
  ["", '{"a":', "1"],
];

const textOf =
  ([beginning, piece, end]: (typeof shapes)[number]) =>
  (length: number) =>
    beginning +
    piece.repeat(Math.max(1, Math.floor((length - beginning.length - end.length) / piece.length))) +
    end;

/** The URL that took 7 s: three parts, all of which grow. */
const issued = (length: number) => {
  const colons = Math.floor(length * 0.35);
  return `http:${":".repeat(colons)}${"a".repeat(length - colons - 6)}]`;
};

describe("takes linear time", () => {
  it.each(readers)("%s", (_name, lengthMax, read) => {
    const slow = shapes
      .map((shape) => [JSON.stringify(shape), growthOf(textOf(shape), lengthMax, read)])
      .concat([["the URL with colons", growthOf(issued, lengthMax, read)]])
      .filter(([, verdict]) => verdict !== "linear");
    expect(slow).toEqual([]);
  });

  it("every path of the interface, as the gateway's library looks for it", () => {
    const ofGateway = createRequire(createRequire(import.meta.url).resolve("moleculer-web"));
    const { pathToRegexp } = ofGateway("path-to-regexp");
    const patterns: RegExp[] = routes
      .map(({ path }) =>
        [pathToRegexp(path.replaceAll(/\{(\w+)\}/g, ":$1"), { sensitive: true })].map(
          (made) => made.regexp ?? made,
        ),
      )
      .flat();
    expect(patterns.every((pattern) => pattern instanceof RegExp || "exec" in pattern)).toBe(true);
    const slow = shapes
      .map((shape) => [
        JSON.stringify(shape),
        growthOf(textOf(shape), header, (given) =>
          patterns.forEach((pattern) => pattern.test(`/api/${given}`)),
        ),
      ])
      .filter(([, verdict]) => verdict !== "linear");
    expect(slow).toEqual([]);
  });
});

describe("what measures it", () => {
  it.each([
    ["linear", /^[^x]*x/, false],
    ["quadratic", /0+$/, true],
  ])("tells %s work", (_name, pattern, blamed) => {
    const verdict = growthOf(
      (length) => `${"0".repeat(length)}1`,
      30_000,
      (given) => void pattern.exec(given),
    );
    expect(verdict !== "linear").toBe(blamed);
  });
});

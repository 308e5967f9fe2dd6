// Requests nobody in their right mind sends, drawn from a seed: any route, any token, and in every place values that
// are no values. Written as bytes, because clients refuse to send half of them.
import { contractOf, type Route, routes } from "../../../services/api-gateway/routes.ts";

export interface Hostile {
  route: Route;
  bytes: Buffer;
  method: string;
  /** In every text of ours, so that an echo is found. */
  marker: string;
  /** The token is a superadmin's, who may see every tenant's rows. */
  above: boolean;
}

/** Numbers from a seed; the same seed gives the same run. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** mulberry32: in [0, 1). */
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(share: number): boolean {
    return this.roll() < share;
  }

  below(bound: number): number {
    return Math.floor(this.roll() * bound);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }
}

const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
const digits = "7".repeat(10_000);

/** JSON values, as text. `m` is the marker. */
const jsonValues: readonly ((m: string, dice: Dice) => string)[] = [
  () => "null",
  () => "true",
  () => "0",
  () => "-1",
  () => "1.5",
  () => "2147483648",
  () => "9007199254740993",
  () => "1e400",
  () => "-1e400",
  () => "NaN",
  () => "Infinity",
  () => digits,
  () => '"1e3"',
  () => '"0x10"',
  () => '" 1"',
  () => '"１２３"',
  () => '"NaN"',
  () => "[]",
  () => "[7]",
  () => "{}",
  (m) => JSON.stringify(m),
  (m) => `[${JSON.stringify(m)}, [${JSON.stringify(m)}]]`,
  (m) => `{"$ne": ${JSON.stringify(m)}}`,
  (m) => `{"__proto__": {"polluted": ${JSON.stringify(m)}}}`,
  (m) => `{"constructor": {"prototype": {"polluted": ${JSON.stringify(m)}}}}`,
  (m) => JSON.stringify(`${m}\u0000`),
  (m) => `"${m}\\ud800"`,
  (m) => `"${m}\\udc00\\ud800"`,
  (m) => JSON.stringify(`${m}\r\nSet-Cookie: a=b`),
  (m) => JSON.stringify(`${m}'; drop table users; --`),
  (m) => JSON.stringify(`${m}\\' or 1=1 /* $1 ? ?? :name`),
  (m) => JSON.stringify(`\${${m}} {{${m}}} <script>${m}</script>`),
  (m) => JSON.stringify(`${m}@people.example`),
  (m) => JSON.stringify(`"${m} x"@[127.0.0.1]`),
  (m, dice) => JSON.stringify(m + "x".repeat(dice.pick([300, 5_000, 200_000, 900_000]))),
  (m) => JSON.stringify(m + "\u0301".repeat(2_000)),
  (m) => JSON.stringify(m + "\u202e\u200b\ufeff\u{10ffff}"),
  (_m, dice) => deep(dice.pick([8, 31, 33, 40_000]), "[", "]"),
  (_m, dice) => deep(dice.pick([9, 33, 40_000]), '{"a":', "}").replace(/:}/, ":1}"),
  (m) => `{"a": 1, "a": ${JSON.stringify(m)}, "a": [`,
];

/** Where a well-formed value is known, it is sent often, so that the other places are reached. */
const goodValues: Readonly<Record<string, (m: string, dice: Dice) => unknown>> = {
  email: (m) => `${m}@people.example`,
  password: (m) => `Pass-${m}-word`,
  new_password: (m) => `Pass-${m}-word`,
  full_name: (m) => `Name ${m}`,
  name: (m) => `Name ${m}`,
  role: (_m, dice) => dice.pick(["doctor", "nurse", "registrar", "admin", "superadmin"]),
  subdomain: (m, dice) => dice.pick(["demo", "platform", "never-was", `s${m}`]),
  theme: () => "dark",
  settings: (m) => ({ note: m }),
  token: (m) => m,
  record_number: (m) => `R-${m}`,
  birth_date: () => "1990-05-17",
  phone: () => "+49 30 1234567",
  notes: (m) => `Note ${m}`,
  version: (_m, dice) => 1 + dice.below(3),
  kind: () => "visit",
  body: (m) => `Record ${m}`,
};

const queryValues: readonly ((m: string) => string)[] = [
  () => "",
  () => "null",
  () => "-1",
  () => "0",
  () => "1.5",
  () => "1e3",
  () => "%EF%BC%91",
  () => "NaN",
  () => digits,
  () => "99999999999999999999",
  (m) => m,
  (m) => `${m}%00`,
  (m) => `${m}%ED%A0%80`,
  (m) => `${m}%FF%FE`,
  (m) => `${m}%`,
  (m) => `${m}%zz%u0041`,
  (m) => `${m}%0d%0aSet-Cookie:a=b`,
  () => "id;--",
  (m) => `id%20desc,(select%20'${m}')`,
  (m) => `${m}'%20or%20'1'='1`,
  () => "__proto__",
  () => "constructor",
  (m) => `%25${m}_%5C%25`,
  (m) => m.padEnd(9_000, "x"),
  () => "2026-02-30",
  () => "0000-00-00T99:99:99Z",
];

const queryShapes: readonly ((name: string, value: string) => string)[] = [
  (name, value) => `${name}=${value}`,
  (name, value) => `${name}=${value}`,
  (name, value) => `${name}=${value}`,
  (name, value) => `${name}[]=${value}`,
  (name, value) => `${name}[$ne]=${value}`,
  (name, value) => `${name}=${value}&${name}=${value}`,
  (name, value) => `${name}[__proto__][x]=${value}`,
  (name) => name,
  (name, value) => `__proto__[${name}]=${value}&constructor[prototype][${name}]=${value}`,
];

const pathValues: readonly ((m: string) => string)[] = [
  () => "0",
  () => "-1",
  () => "1.5",
  () => "1e3",
  () => "0x10",
  () => "%201",
  () => "2147483648",
  () => "99999999999999999999999",
  () => digits.slice(0, 4_000),
  (m) => m,
  (m) => `${m}%00`,
  () => "%2e%2e%2f%2e%2e%2fetc",
  () => "..%5c..",
  () => "1%2f2",
  () => "%",
  () => "%zz",
  () => "%ff%fe",
  () => "%ED%A0%80",
  () => "__proto__",
  () => "constructor",
  () => "1;--",
  () => "1'%20or%201=1",
  () => ":user_id",
  () => "{user_id}",
  () => "１",
];

const mediaTypes = [
  "application/json",
  "application/json",
  "application/json",
  "application/json; charset=utf-16",
  "application/json; charset=\u00ff",
  "application/vnd.x+json",
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/xml",
  "*/*",
  "/",
  "json",
];

const oddMethods = [
  "PATCH",
  "HEAD",
  "OPTIONS",
  "TRACE",
  "PROPFIND",
  "PURGE",
  "QUERY",
  "GET",
  "DELETE",
  "PUT",
  "POST",
];

const oddHeaders: readonly ((m: string) => string)[] = [
  (m) => `X-Request-Id: ${m}\u00ff bad id`,
  (m) => `X-Request-Id: ${"a".repeat(3_000)}${m}`,
  () => "X-Forwarded-For: 1.2.3.4, ::1, nonsense",
  (m) => `X-Tenant: ${m}\r\nX-User-Role: superadmin`,
  (m) => `Cookie: __proto__=${m}; a=b`,
  (m) => `User-Agent: ${m}\u001b[31m`,
  (m) => `User-Agent: ${m.padEnd(4_000, "u")}`,
  () => "Content-Encoding: gzip",
  () => "Accept: application/xml;q=1",
  () => "Expect: 100-continue",
  (m) => `Expect: ${m}`,
  () => "Upgrade: websocket\r\nConnection: Upgrade",
  () => "Host: evil.example",
  (m) => `${m}: ${m}`,
  () => "__proto__: x",
  () => "X-HTTP-Method-Override: DELETE",
  () => "Authorization: Basic YTpi",
  () => "Range: bytes=0-5",
  () => "If-None-Match: *",
];

/** Bytes that are no HTTP at all, or not the HTTP they say they are. */
const brokenHeads: readonly ((line: string) => string)[] = [
  (line) => `${line.replace(" HTTP/1.1", " HTTP/9.9")}\r\nHost: x\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nContent-Length: -5\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef`,
  (line) => `${line}\r\nHost: x\r\nBad Header: x\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nX-A: a\rb\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nX-A: a\0b\r\n\r\n`,
  (line) => `${line}\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nX-Large: ${"h".repeat(20_000)}\r\n\r\n`,
  (line) => `${line}\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
  (line) => `FOO${line}\r\nHost: x\r\n\r\n`,
  () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
];

export interface Source {
  /** Tokens of every role, and ones that are none. */
  tokens: readonly { text: string; above: boolean }[];
  /** Ids of things that may be changed and deleted, by the parameter's name. */
  ids: Readonly<Record<string, readonly number[]>>;
}

export function drawHostile(dice: Dice, source: Source, serial: number): Hostile {
  const route = dice.pick(routes);
  const marker = `zq${serial.toString(36)}k${dice.below(46_656).toString(36)}`;
  const method = dice.chance(0.06) ? dice.pick(oddMethods) : route.method;
  const line = `${method} ${drawPath(dice, route, source, marker)}${drawQuery(dice, route, marker)} HTTP/1.1`;
  const { text: token, above } = dice.pick(source.tokens);
  if (dice.chance(0.02))
    return { route, method, marker, above, bytes: Buffer.from(dice.pick(brokenHeads)(line), "latin1") };
  const body = drawBody(dice, route, marker);
  const lines = [line, "Host: records.test", "Connection: close", `Authorization: Bearer ${token}`];
  while (dice.chance(0.15)) lines.push(dice.pick(oddHeaders)(marker));
  if (body !== undefined)
    lines.push(`Content-Type: ${dice.pick(mediaTypes)}`, `Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  return { route, method, marker, above, bytes: body === undefined ? head : Buffer.concat([head, body]) };
}

function drawPath(dice: Dice, route: Route, { ids }: Source, marker: string): string {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const known = ids[name] ?? [];
    return dice.chance(0.5) && known.length > 0
      ? String(dice.pick(known))
      : Buffer.from(dice.pick(pathValues)(marker)).toString("latin1");
  });
  if (!dice.chance(0.05)) return path;
  return dice.pick([
    `${path}/`,
    `/${path}`,
    path.replace("/api/", "/api//"),
    path.replace("/api/", "/api/%2e%2e/api/"),
    path.replaceAll("/", "%2f"),
    path.toUpperCase(),
    `${path}%00`,
    `http://evil.example${path}`,
    `${path};jsessionid=${marker}`,
  ]);
}

function drawQuery(dice: Dice, route: Route, marker: string): string {
  const { query = {}, body = {} } = contractOf(route);
  const names = [...Object.keys(query), ...Object.keys(body), "tenant_id", "role", "__proto__"];
  const known = Object.keys(query);
  const parts: string[] = [];
  if ("token" in query && dice.chance(0.7)) parts.push(`token=${marker}`);
  if ("subdomain" in query && dice.chance(0.7)) parts.push("subdomain=demo");
  while (dice.chance(0.5) && parts.length < 6) {
    const name = dice.chance(0.7) && known.length > 0 ? dice.pick(known) : dice.pick(names);
    parts.push(dice.pick(queryShapes)(name, dice.pick(queryValues)(marker)));
  }
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function drawBody(dice: Dice, route: Route, marker: string): Buffer | undefined {
  const { body } = contractOf(route);
  if (body === undefined ? dice.chance(0.8) : dice.chance(0.05)) return undefined;
  if (dice.chance(0.03)) return Buffer.from([0xff, 0xfe, 0x7b, 0xc3, 0x28, 0x7d]);
  if (dice.chance(0.08)) return Buffer.from(dice.pick(jsonValues)(marker, dice));
  const fields = Object.keys(body ?? {}).flatMap((name) => {
    const good = goodValues[name];
    if (dice.chance(0.1)) return [];
    const value =
      good !== undefined && dice.chance(0.6)
        ? JSON.stringify(good(marker, dice))
        : dice.pick(jsonValues)(marker, dice);
    return [`${JSON.stringify(name)}: ${value}`];
  });
  while (dice.chance(0.3)) {
    const name = dice.pick([
      "__proto__",
      "constructor",
      "tenant_id",
      "role",
      "id",
      "toJSON",
      "is_active",
      "length",
    ]);
    fields.push(`${JSON.stringify(name)}: ${dice.pick(jsonValues)(marker, dice)}`);
  }
  return Buffer.from(`{${fields.join(", ")}}`);
}

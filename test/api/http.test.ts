// Section 7 and decision 1: the order of answers, limits, media types, headers and everything else that is HTTP.
import { connect } from "node:net";
import { brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, startService, type TestService } from "../support/service.ts";
import type { RuleShape } from "../../services/shared/params/types.ts";
import { contractOf, type Route, routes } from "../../services/api-gateway/routes.ts";
import { makeClinic, makeDepartment, makeUser } from "../support/tenancy.ts";

const megabyte = 1_048_576;

let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let nurse: string;
let foreignTenant: number;
beforeAll(async () => {
  service = await startService({ CORS_ORIGINS: "https://app.example,http://localhost:8080" });
  const superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  foreignTenant = (await makeClinic(service, superadmin)).id;
  const user = await makeUser(service, clinic.token);
  nurse = await service.signInAs(user.email, clinic.subdomain);
});
afterAll(() => service.stop());

/** Sends bytes as they are and reads until the other side closes. */
function raw(text: string | readonly string[]): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(Number(port), hostname, () => {
      for (const part of [text].flat()) socket.write(part);
    });
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      answer += chunk;
    });
    // A server that closes while we are still sending resets the connection; what it said before that counts.
    socket.on("error", (error) => (answer === "" ? reject(error) : resolve(answer)));
    socket.on("close", () => resolve(answer));
  });
}

/** The same in bytes, its head and body apart. */
async function rawBytes(text: string): Promise<{ head: string; body: Buffer }> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname, () => socket.write(text));
  const bytes = Buffer.concat(await socket.toArray());
  const end = bytes.indexOf("\r\n\r\n");
  return { head: bytes.subarray(0, end).toString(), body: bytes.subarray(end + 4) };
}

const head = (method: string, path: string, headers: readonly string[] = [], close = true): string =>
  [`${method} ${path} HTTP/1.1`, "Host: x", ...(close ? ["Connection: close"] : []), ...headers, "", ""].join(
    "\r\n",
  );
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
const login = (headers: Record<string, string>, body: string | Uint8Array): Promise<Answer> =>
  service.call("POST", "/api/auth/login", { body, headers });

describe("of two faults the earlier one is told", () => {
  const users = "/api/admin/users";
  const bad = "x".repeat(40);
  const big = JSON.stringify({ x: "y".repeat(megabyte) });
  const chunked = `10000\r\n${"x".repeat(65_536)}\r\n`.repeat(17);
  type Case = [name: string, method: string, path: () => string, who: string, body: unknown, status: number];
  const cases: Case[] = [
    ["unknown path, no token", "GET", () => "/api/nothing", "", undefined, 404],
    ["unknown path, huge body", "POST", () => "/api/nothing", "", big, 404],
    ["unknown path, broken JSON", "POST", () => "/api/nothing", "nurse", "{", 404],
    ["wrong method, no token", "PATCH", () => users, "", undefined, 405],
    ["wrong method, huge body", "PUT", () => users, "", big, 405],
    ["wrong method, too low a role", "PUT", () => users, "nurse", undefined, 405],
    ["huge body, no token", "POST", () => users, "", big, 413],
    ["huge body, too low a role", "POST", () => users, "nurse", big, 413],
    ["huge body, broken JSON", "POST", () => users, "admin", `{${" ".repeat(megabyte)}`, 413],
    ["huge body, wrong media type", "POST", () => "/api/auth/login", "", "x".repeat(megabyte + 1), 413],
    ["huge undeclared body, no token", "POST", () => users, "", chunked, 401],
    ["huge undeclared body, a bad token", "POST", () => users, bad, chunked, 401],
    ["huge undeclared body, too low a role", "POST", () => users, "nurse", chunked, 403],
    ["huge undeclared body, else all is well", "POST", () => users, "admin", chunked, 413],
    ["no token, broken JSON", "POST", () => users, "", "{", 401],
    ["no token, an id that is none", "POST", () => `${users}/x/block`, "", undefined, 401],
    ["no token, an id that is not there", "DELETE", () => `${users}/2000000000`, "", undefined, 401],
    ["a bad token, a bad body", "POST", () => users, bad, {}, 401],
    [
      "a bad token, a foreign tenant",
      "GET",
      () => `${users}?tenant_id=${foreignTenant}`,
      bad,
      undefined,
      401,
    ],
    ["too low a role, broken JSON", "POST", () => users, "nurse", "{", 403],
    ["too low a role, a bad body", "POST", () => users, "nurse", {}, 403],
    ["too low a role, an id that is none", "DELETE", () => `${users}/x`, "nurse", undefined, 403],
    [
      "too low a role, an id that is not there",
      "DELETE",
      () => `${users}/2000000000`,
      "nurse",
      undefined,
      403,
    ],
    ["too low a role, a foreign tenant's id", "GET", () => "/api/admin/tenants/1", "nurse", undefined, 403],
    [
      "a foreign tenant in the query, a bad limit",
      "GET",
      () => `${users}?tenant_id=${foreignTenant}&limit=0`,
      "admin",
      undefined,
      403,
    ],
    ["a foreign tenant in the body, nothing else", "POST", () => users, "admin", "foreign", 403],
    ["a bad body, an id that is not there", "PUT", () => `${users}/2000000000/role`, "admin", {}, 422],
    ["a bad body, an impossible id", "PUT", () => `${users}/99999999999/role`, "admin", {}, 422],
    ["broken JSON, an id that is not there", "PUT", () => `${users}/2000000000/role`, "admin", "{", 422],
    ["a bad body, an address that is taken", "POST", () => users, "admin", "taken", 422],
    ["an id that is none, a bad body", "PUT", () => `${users}/x/role`, "admin", {}, 422],
    [
      "an id that is not there, a good body",
      "PUT",
      () => `${users}/2000000000/role`,
      "admin",
      { role: "nurse" },
      404,
    ],
  ];

  it.each(cases)("%s", async (_name, method, path, who, given, status) => {
    const token = who === "nurse" ? nurse : who === "admin" ? clinic.token : who === "" ? undefined : who;
    const bodies: Record<string, unknown> = {
      foreign: { tenant_id: foreignTenant },
      taken: { email: clinic.admin.email, password: "short", full_name: "x", role: "nurse" },
    };
    const body = typeof given === "string" && given in bodies ? bodies[given] : given;
    const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
    const headers = [
      "Content-Type: application/json",
      ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
      ...(text === ""
        ? []
        : [text === chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${Buffer.byteLength(text)}`]),
    ];
    // By a raw connection, because clients stumble over an answer that comes before they have sent everything.
    const answer = await raw(head(method, path(), headers) + text);
    expect(statusOf(answer)).toBe(status);
    expect(answer).toMatch(/"(?:code|loc)"/);
  });

  it("failures of path, query and body come back together", async () => {
    const { status, body } = await service.call("PUT", "/api/admin/users/x/role", {
      token: clinic.token,
      body: { role: 1 },
    });
    expect(status).toBe(422);
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc)).toEqual([
      ["path", "user_id"],
      ["body", "role"],
    ]);
  });

  it("an id that is none comes with the missing body", async () => {
    const { body } = await service.call("PUT", "/api/admin/users/x/role", { token: clinic.token });
    expect(body.detail).toEqual([
      expect.objectContaining({ loc: ["path", "user_id"] }),
      { loc: ["body"], msg: "Field required", type: "missing" },
    ]);
  });
});

describe("404", () => {
  it.each([
    "/api",
    "/api/",
    "/api/unknown",
    "/api/admin/users/1/2/3",
    "/api/users",
    "/api/auth/me/x",
    "/api/%00",
    "/api/auth/%E0%A4%A",
    "/api/../api/unknown",
    "/api-gateway/list",
    "/auth/login",
    "/users/bootstrap",
    "/api/auth/authenticate",
    "/api/admin/users/1/restore",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/.git/config",
    "/api/__proto__",
    "/$node/health",
    "//api/users/me",
    "/api//users/me",
    "/API/users/me",
    "/api/Users/Me",
    "/api/users/me;x=1",
    "/api/users/me%2f",
    "/api%2fusers%2fme",
    "/api/webhooks/%ff",
    "/api/webhooks/%ff/test",
    "/api/admin/users/%",
    "/api/patients/%c3%28",
    "http://x/api/unknown",
  ])("%s", async (path) => {
    const answer = await raw(head("GET", path, [`Authorization: Bearer ${clinic.token}`]));
    expect(statusOf(answer)).toBe(404);
    expect(answer).toMatch(/\{"detail":"Not found","code":"not_found"\}$/);
  });
});

describe("405", () => {
  it.each([
    ["POST", "/api/users/me", "GET, HEAD"],
    ["DELETE", "/api/auth/me", "GET, HEAD"],
    ["GET", "/api/auth/login", "POST"],
    ["GET", "/api/auth/logout", "POST"],
    ["PATCH", "/api/admin/users", "GET, HEAD, POST"],
    ["GET", "/api/admin/users/1", "DELETE"],
    ["GET", "/api/admin/users/1/block", "POST"],
    ["POST", "/api/admin/tenants/1", "GET, HEAD, PUT, DELETE"],
    ["POST", "/api/admin/tenants/x", "GET, HEAD, PUT, DELETE"],
    ["PATCH", "/api/admin/departments/1", "PUT, DELETE"],
    ["POST", "/api/preferences", "GET, HEAD, PUT"],
    ["OPTIONS", "/api/users/me", "GET, HEAD"],
    ["HEAD", "/api/auth/login", "POST"],
    ["HEAD", "/api/admin/backup/download/x", "GET"],
    ["HEAD", "/api/backup-download/x", "GET"],
    ["PUT", "/api/webhooks/register", "POST"],
    ["DELETE", "/api/webhooks/register", "POST"],
    ["GET", "/api/webhooks/register", "POST"],
    ["PUT", "/api/webhooks/register/?x=1", "POST"],
    ["PUT", "/api/webhooks/event-types", "GET, HEAD"],
    ["DELETE", "/api/admin/backup/list", "GET, HEAD"],
    ["PUT", "http://x/api/webhooks/register", "POST"],
    ["TRACE", "/api/users/me", "GET, HEAD"],
  ])("%s %s allows %s", async (method, path, allow) => {
    const answer = await raw(head(method, path));
    expect(statusOf(answer)).toBe(405);
    const listed = /^Allow: (.*)\r$/im.exec(answer)?.[1]?.split(", ").sort();
    expect(listed).toEqual(allow.split(", ").sort());
    if (method !== "HEAD") expect(answer).toMatch(/"code":"method_not_allowed"\}$/);
  });
});

describe("OPTIONS", () => {
  it("never runs what a preflight asks about, with or without a token", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const path = `/api/admin/departments/${ward.id}`;
    for (const origin of ["https://evil.example", "https://app.example", undefined]) {
      const headers: Record<string, string> = { "access-control-request-method": "DELETE" };
      if (origin !== undefined) headers.origin = origin;
      const { status } = await service.call("OPTIONS", path, { token: clinic.token, headers });
      expect(status).toBe(origin === "https://app.example" ? 204 : 405);
    }
    expect((await service.call("DELETE", path, { token: clinic.token })).status).toBe(204);
  });
});

describe("413", () => {
  const refused = /"code":"body_too_large"\}$/;

  it("a declared length over 1 MB is refused before a byte of it is read", async () => {
    const answer = await raw(
      head(
        "POST",
        "/api/auth/login",
        ["Content-Type: application/json", `Content-Length: ${megabyte + 1}`],
        false,
      ),
    );
    expect(statusOf(answer)).toBe(413);
    expect(answer).toMatch(refused);
    expect(answer).toMatch(/^Connection: close\r$/im);
  });

  it("chunks that add up to more are cut off", async () => {
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const start = head("POST", "/api/auth/login", ["Transfer-Encoding: chunked"], false);
    const answer = await raw([start, ...Array.from({ length: 17 }, () => chunk)]);
    expect(statusOf(answer)).toBe(413);
    expect(answer).toMatch(refused);
  });

  it("exactly 1 MB is read of who is signed in", async () => {
    const padding = megabyte - JSON.stringify({ x: "" }).length;
    const body = JSON.stringify({ x: "y".repeat(padding) });
    const answer = await service.call("POST", "/api/admin/departments", { token: clinic.token, body });
    expect(answer).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["body", "name"], type: "missing" }] },
    });
  });

  const anonymous = routes
    .map((route) => ({ route, contract: contractOf(route) }))
    .filter(({ contract }) => contract.access.who === "public" && contract.body !== undefined)
    .map(({ route, contract }) => [route.path, contract.rawBody?.bytesMax ?? 16_384] as const);

  it("what needs no token takes little: 256 kB of notifications, 16 kB of all else", () => {
    expect(anonymous.length).toBeGreaterThan(6);
    const large = anonymous.filter(([, bytesMax]) => bytesMax !== 16_384);
    expect(large.map(([path]) => path).sort()).toEqual([
      "/webhooks/card-provider",
      "/webhooks/telegram",
      "/webhooks/wallet-provider",
    ]);
    expect(large.every(([, bytesMax]) => bytesMax === 262_144)).toBe(true);
  });

  it.each(anonymous)("%s reads no more than that, declared or not", async (path, bytesMax) => {
    const declared = await raw(head("POST", path, [`Content-Length: ${bytesMax + 1}`], false));
    expect(statusOf(declared)).toBe(413);
    const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${" ".repeat(bytes)}\r\n`;
    const grown = await raw([
      head("POST", path, ["Transfer-Encoding: chunked"], false),
      chunk(bytesMax),
      `${chunk(1)}0\r\n\r\n`,
    ]);
    expect(statusOf(grown)).toBe(413);
    const whole = await raw([
      head("POST", path, ["Transfer-Encoding: chunked"]),
      chunk(bytesMax),
      "0\r\n\r\n",
    ]);
    // Whatever is wrong with so many spaces, they were read.
    expect([400, 404, 422]).toContain(statusOf(whole));
  });

  it("a body with GET counts as well", async () => {
    const answer = await raw(head("GET", "/api/auth/tenants", [`Content-Length: ${megabyte + 1}`], false));
    expect(statusOf(answer)).toBe(413);
  });
});

describe("HEAD", () => {
  it.each([
    ["/api/users/me", 200],
    ["/api/admin/users?limit=1", 200],
    ["/api/admin/users?limit=0", 422],
    ["/api/admin/tenants/2000000000", 404],
  ])("%s answers what GET would, without its body", async (path, status) => {
    const told = await service.call("HEAD", path, { token: clinic.token });
    const whole = await service.call("GET", path, { token: clinic.token });
    expect([told.status, told.body]).toEqual([status, ""]);
    for (const name of ["content-type", "content-length", "cache-control", "vary"])
      expect([name, told.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
  });

  it("needs the same token and the same role", async () => {
    expect((await service.call("HEAD", "/api/users/me")).status).toBe(401);
    expect((await service.call("HEAD", "/api/admin/users", { token: nurse })).status).toBe(403);
  });
});

describe("401", () => {
  it.each([4_096, 4_097, 10_000, 15_000])("a token of %i letters is none of ours", async (length) => {
    const answer = await service.call("GET", "/api/users/me", { token: "x".repeat(length) });
    expect(answer).toMatchObject({ status: 401, body: { code: "invalid_token" } });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });
});

describe("415", () => {
  const body = JSON.stringify({ email: "a@b.example", password: "wrong-password", subdomain: "demo" });
  it.each(["gzip", "br", "deflate", "GZIP", "identity, gzip", "unheard-of"])(
    "a body encoded as %s",
    async (coding) => {
      const headers = { "content-encoding": coding };
      const bytes = coding.toLowerCase() === "gzip" ? gzipSync(body) : body;
      for (const path of ["/api/auth/login", "/webhooks/card-provider"]) {
        const answer = await service.call("POST", path, { body: bytes, headers });
        expect(answer).toMatchObject({ status: 415, body: { code: "unsupported_encoding" } });
      }
      // Who may not call is told that first.
      const path = "/api/admin/departments";
      expect((await service.call("POST", path, { body: bytes, headers })).status).toBe(401);
      expect((await service.call("POST", path, { body: bytes, headers, token: nurse })).status).toBe(403);
    },
  );
  it.each(["identity", " Identity "])("not one that is sent as it is: %j", async (coding) => {
    const lines = ["Content-Type: application/json", `Content-Length: ${body.length}`];
    const answer = await raw(
      head("POST", "/api/auth/login", [...lines, `Content-Encoding: ${coding}`]) + body,
    );
    expect(statusOf(answer)).toBe(401);
  });
});

describe("the whole address as the target", () => {
  it.each(["http://x", "HTTP://y:1", "https://user@z"])("%s is passed over", async (origin) => {
    const authorization = [`Authorization: Bearer ${nurse}`];
    for (const [path, status] of [
      ["/api/users/me", 200],
      ["/api/users/me?x=http://y/", 200],
      ["/openapi.json", 200],
      ["", 200],
      ["?x", 200],
      ["/api/patients/0", 404],
    ] as const) {
      const answer = await raw(head("GET", `${origin}${path}`, authorization));
      expect([path, statusOf(answer)]).toEqual([path, status]);
    }
  });
});

describe("compression", () => {
  const many = "/api/admin/audit?limit=50";
  const ask = (path: string, coding: string | undefined, token = clinic.token) => {
    const lines = [`Authorization: Bearer ${token}`, ...(coding ? [`Accept-Encoding: ${coding}`] : [])];
    return rawBytes(head("GET", path, lines));
  };

  it.each([
    ["br", brotliDecompressSync],
    ["gzip", gunzipSync],
  ] as const)("%s: a large answer to GET", async (coding, open) => {
    const plain = await ask(many, undefined);
    expect(plain.body.length).toBeGreaterThan(2_000);
    expect(plain.head).not.toMatch(/^content-encoding/im);
    const packed = await ask(many, coding);
    expect(packed.head).toMatch(new RegExp(`^content-encoding: ${coding}\r?$`, "im"));
    expect(packed.head).toMatch(new RegExp(`^content-length: ${packed.body.length}\r?$`, "im"));
    expect(packed.body.length).toBeLessThan(plain.body.length / 2);
    expect(Object.keys(JSON.parse(open(packed.body).toString()))).toEqual(
      Object.keys(JSON.parse(plain.body.toString())),
    );
    for (const { head: lines } of [plain, packed]) expect(lines).toMatch(/^vary: .*accept-encoding/im);
  });

  it("not a small one, not one of another method, not an error", async () => {
    const { head: small } = await ask("/api/users/me", "gzip");
    expect(small).not.toMatch(/^content-encoding/im);
    const events = { url: "https://93.184.215.14/hook", events: ["*"] };
    const lines = ["Accept-Encoding: gzip, br", "Content-Type: application/json"];
    const text = JSON.stringify({ ...events, url: `${events.url}?${"x".repeat(1_800)}` });
    const answer = await rawBytes(
      head("POST", "/api/webhooks/register", [
        ...lines,
        `Authorization: Bearer ${clinic.token}`,
        `Content-Length: ${text.length}`,
      ]) + text,
    );
    expect(answer.head).toMatch(/^HTTP\/1.1 201/);
    expect(answer.body.length).toBeGreaterThan(1_800);
    expect(answer.head).not.toMatch(/^content-encoding/im);
    const filters = Array.from({ length: 40 }, (_, n) => `page=${n}x`).join("&");
    expect((await ask(`/api/admin/audit?${filters}&limit=x`, "gzip")).head).not.toMatch(
      /^content-encoding/im,
    );
  });

  it("no answer to GET has a field that is a secret: a compressed length may tell of what is in it", () => {
    const fieldsOf = (shape: RuleShape | undefined): string[] => {
      if (shape?.type === "listOf") return fieldsOf(shape.items);
      if (shape?.type !== "object") return [];
      return Object.entries(shape.fields).flatMap(([name, field]) => [name, ...fieldsOf(field)]);
    };
    // Of a fault it is the name that the catalogue gives it, no code that somebody types.
    const isFaults = (route: Route) => route.action.startsWith("self-healing.");
    const names = routes
      .filter((route) => route.method === "GET" && contractOf(route).download !== true && !isFaults(route))
      .flatMap((route) => fieldsOf(contractOf(route).result));
    expect(names.length).toBeGreaterThan(100);
    expect(
      names.filter((name) => /secret$|^secret(?!_)|token|password|ticket|^key$|^code$/.test(name)),
    ).toEqual([]);
  });
});

describe("bodies", () => {
  it.each([
    ["{", "1"],
    ['{"email": }', "10"],
    ["", undefined],
    ['{"a":1,}', "7"],
    ["{'a':1}", "1"],
    ['{"a":NaN}', "5"],
    ['{"a":Infinity}', "5"],
    ['{"a":1}{"b":2}', "7"],
    ["undefined", "0"],
    ['{"a":"\u0001"}', "6"],
  ])("%j: broken JSON is reported alone, with the place", async (text, offset) => {
    const answer = await login({}, text);
    expect(answer.status).toBe(422);
    const expected =
      offset === undefined
        ? { loc: ["body"], msg: "Field required", type: "missing" }
        : { loc: ["body", offset], msg: "JSON decode error", type: "json_invalid" };
    expect(answer.body.detail).toEqual([expected]);
  });

  it("bytes that are no UTF-8 are broken JSON", async () => {
    const bytes = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d]);
    const answer = await login({}, new Uint8Array(bytes));
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ type: "json_invalid" }] } });
  });

  it("depth over 32 is refused, also a hundred thousand deep", async () => {
    for (const depth of [33, 100_000]) {
      const body = '{"a":'.repeat(depth) + "1" + "}".repeat(depth);
      const answer = await service.call("POST", "/api/admin/departments", { token: clinic.token, body });
      expect(answer).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ["body"], type: "value_error" }] },
      });
    }
  });

  it.each([
    ["application/json", 401],
    ["application/json; charset=utf-8", 401],
    ["APPLICATION/JSON", 401],
    ["application/vnd.api+json", 401],
    ["", 401],
    ["text/plain", 422],
    ["text/json", 422],
    ["application/x-www-form-urlencoded", 422],
    ["multipart/form-data; boundary=x", 422],
    ["application/jsonp", 422],
    ["application/json-seq", 422],
    ["text/html; application/json", 422],
    ["*/*", 422],
  ])("media type %j", async (type, status) => {
    const text = JSON.stringify({ email: "a@b.example", password: "wrong-password", subdomain: "demo" });
    const headers = [...(type === "" ? [] : [`Content-Type: ${type}`]), `Content-Length: ${text.length}`];
    const answer = await raw(head("POST", "/api/auth/login", headers) + text);
    expect(statusOf(answer)).toBe(status);
    if (status === 422) expect(answer).toMatch(/"loc":\["body"\].*"type":"model_attributes_type"/);
  });

  it("of a repeated key the last one counts", async () => {
    const answer = await login(
      {},
      '{"email":1,"email":"a@b.example","password":"wrong-one","subdomain":"demo"}',
    );
    expect(answer.status).toBe(401);
  });

  it("an answer never repeats what was sent", async () => {
    const secret = "Do-Not-Repeat-Me-123";
    const body = { email: [secret], password: { x: secret }, subdomain: secret.repeat(20), [secret]: secret };
    const answers = [
      await login({}, JSON.stringify(body)),
      await login({}, `{"${secret}": ${secret}`),
      await service.call("GET", `/api/admin/users?sort_by=${secret}&page=${secret}`, { token: clinic.token }),
      await service.call("GET", `/api/${secret}`),
      await service.call("DELETE", `/api/admin/users/${secret}`, { token: clinic.token }),
    ];
    for (const answer of answers) expect(JSON.stringify(answer.body)).not.toContain(secret);
    expect(service.process.output()).not.toContain(secret);
  });

  it("a body where none is wanted is no matter", async () => {
    const answer = await raw(
      `${head("GET", "/api/users/me", [`Authorization: Bearer ${nurse}`, "Content-Length: 1"])}{`,
    );
    expect(statusOf(answer)).toBe(200);
  });
});

describe("headers", () => {
  const id = async (sent: string | undefined): Promise<string | null> => {
    const headers: Record<string, string> = sent === undefined ? {} : { "x-request-id": sent };
    return (await service.call("GET", "/api/auth/tenants", { headers })).headers.get("x-request-id");
  };

  it.each(["12345678", "a-b_c-D9", "x".repeat(64)])(
    "the request id %s is taken, answered and logged",
    async (sent) => {
      expect(await id(sent)).toBe(sent);
      await service.process.printed(new RegExp(`"requestId":"${sent}"`));
    },
  );

  it.each([
    undefined,
    "",
    "short",
    "x".repeat(65),
    "with space",
    "quote\"'",
    "a=b&c=d12",
    "ü1234567",
    "12345678;x",
  ])("instead of %j there is a new one", async (sent) => {
    const answered = await id(sent === "ü1234567" ? Buffer.from(sent).toString("latin1") : sent);
    expect(answered).not.toBe(sent);
    expect(answered).toMatch(/^[\w-]{8,64}$/);
  });

  it("every answer has one, also errors of every kind", async () => {
    for (const [method, path] of [
      ["GET", "/api/unknown"],
      ["PATCH", "/api/users/me"],
      ["GET", "/api/users/me"],
      ["POST", "/api/auth/login"],
    ] as const) {
      const { headers } = await service.call(method, path);
      expect(headers.get("x-request-id")).toMatch(/^[\w-]{8,64}$/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it("nothing behind a token, and no error, may be stored", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const token = clinic.token;
    const answers = [
      await service.call("GET", "/api/users/me", { token }),
      await service.call("GET", "/api/preferences", { token }),
      await service.call("GET", "/api/admin/users", { token }),
      await service.call("GET", "/api/admin/audit", { token }),
      await service.call("POST", "/api/admin/departments", { token, body: { name: "x" } }),
      await service.call("DELETE", `/api/admin/departments/${ward.id}`, { token }),
      await service.call("GET", "/api/users/me"),
      await service.call("GET", "/api/unknown"),
      await service.call("POST", "/api/auth/login", { body: {} }),
    ];
    expect(answers.map(({ headers }) => headers.get("cache-control"))).toEqual(answers.map(() => "no-store"));
  });

  it("a token just issued may not be stored either", async () => {
    const body = { email: clinic.admin.email, password: "Open-Sesame-4711", subdomain: clinic.subdomain };
    const { status, headers } = await service.call("POST", "/api/auth/login", { body });
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
  });

  it("errors are JSON", async () => {
    for (const path of ["/api/unknown", "/api/users/me"]) {
      const { headers } = await service.call("GET", path);
      expect(headers.get("content-type")).toMatch(/^application\/json/);
    }
  });

  it("nothing tells what the service is made of", async () => {
    const { headers } = await service.call("GET", "/api/users/me", { token: nurse });
    expect(headers.get("x-powered-by")).toBeNull();
    expect(headers.get("server")).toBeNull();
  });

  it.each([
    ["a header of 20 kB", head("GET", "/api/auth/tenants", [`X-Long: ${"x".repeat(20_000)}`]), 431],
    ["no HTTP at all", "HELLO\r\n\r\n", 400],
    ["a header that is none", "GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n", 400],
    [
      "both lengths",
      head("POST", "/api/auth/login", ["Content-Length: 1", "Transfer-Encoding: chunked"]),
      400,
    ],
    ["two lengths", head("POST", "/api/auth/login", ["Content-Length: 1", "Content-Length: 2"]), 400],
    ["two hosts", "GET /api/auth/tenants HTTP/1.1\r\nHost: x\r\nhost: x\r\nConnection: close\r\n\r\n", 400],
    [
      "two hosts of which the other is meant",
      "GET / HTTP/1.0\r\nHost: x\r\nHOST: y\r\nConnection: close\r\n\r\n",
      400,
    ],
    ["a negative length", head("POST", "/api/auth/login", ["Content-Length: -1"]), 400],
  ])("%s is refused in the words of every error", async (_what, text, status) => {
    const answer = await raw(text);
    expect(statusOf(answer)).toBe(status);
    expect(answer).toMatch(/\{"detail":"[^"]+","code":"[a-z_]+"\}$/);
  });
});

describe("CORS", () => {
  const preflight = (origin: string) =>
    service.call("OPTIONS", "/api/users/me", {
      headers: {
        origin,
        "access-control-request-method": "GET",
        "access-control-request-headers": "authorization",
      },
    });

  it.each(["https://app.example", "http://localhost:8080"])("%s may call", async (origin) => {
    const asked = await preflight(origin);
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe(origin);
    expect(asked.headers.get("access-control-allow-methods")).toMatch(/GET.*POST.*PUT.*DELETE/);
    expect(asked.headers.get("access-control-allow-headers")).toMatch(/authorization/i);
    expect(asked.headers.get("access-control-allow-credentials")).toBeNull();
    const called = await service.call("GET", "/api/users/me", { headers: { origin } });
    expect(called.status).toBe(401);
    expect(called.headers.get("access-control-allow-origin")).toBe(origin);
    expect(called.headers.get("vary")).toMatch(/origin/i);
  });

  it.each([
    "https://evil.example",
    "https://app.example.evil.example",
    "http://app.example",
    "https://app.example:8443",
    "null",
    "*",
    "https://APP.example.",
  ])("%s may not", async (origin) => {
    const asked = await preflight(origin);
    expect(asked.status).toBe(405);
    expect(asked.headers.get("access-control-allow-origin")).toBeNull();
    const called = await service.call("GET", "/api/auth/tenants", { headers: { origin } });
    expect(called.headers.get("access-control-allow-origin")).toBeNull();
  });
});

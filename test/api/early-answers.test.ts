// Answers that come before the body: told by method, length, token and role alone, seen by the client, and never at the
// price of what comes next on the connection.
import { execFile, spawnSync } from "node:child_process";
import { request as httpRequest } from "node:http";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser } from "../support/tenancy.ts";
import { head, open, statusesIn } from "../support/raw-http.ts";

const megabyte = 1_048_576;
const departments = "/api/admin/departments";

let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let nurse: string;
beforeAll(async () => {
  service = await startService();
  clinic = await makeClinic(service, await service.signIn("superadmin"));
  const user = await makeUser(service, clinic.token);
  nurse = await service.signInAs(user.email, clinic.subdomain);
});
afterAll(() => service.stop());

const bearer = (token: string) => `Authorization: Bearer ${token}`;
const json = "Content-Type: application/json";
const chunked = "Transfer-Encoding: chunked";
const lengthOf = (bytes: number) => `Content-Length: ${bytes}`;
const departmentNames = async (): Promise<string[]> => {
  const { body } = await service.call("GET", `${departments}?limit=200`, { token: clinic.token });
  return body.items.map(({ name }: { name: string }) => name);
};

type Case = [name: string, headers: () => string[], status: number];
const early: Case[] = [
  ["no token", () => [lengthOf(megabyte)], 401],
  ["no token, nothing declared", () => [chunked], 401],
  ["a token that is none", () => [lengthOf(megabyte), bearer("x".repeat(40))], 401],
  ["a token that is none, nothing declared", () => [chunked, bearer("x".repeat(40))], 401],
  ["too low a role", () => [lengthOf(megabyte), bearer(nurse)], 403],
  ["too low a role, nothing declared", () => [chunked, bearer(nurse)], 403],
  ["too much declared", () => [lengthOf(megabyte + 1), bearer(clinic.token)], 413],
  ["too much declared, no token", () => [lengthOf(megabyte + 1)], 413],
];

describe("before a byte of the body has come", () => {
  it.each(early)("%s is answered, and the connection ends", async (_name, headers, status) => {
    const wire = open(service.url);
    wire.socket.write(head("POST", departments, [json, ...headers()]));
    const answer = await wire.ended;
    expect(statusesIn(answer)).toEqual([status]);
    expect(answer).toMatch(/^Connection: close\r$/m);
    expect(answer).toMatch(/"code":"[a-z_]+"\}$/);
  });

  it.each(early)("%s: nobody is told to go on", async (_name, headers, status) => {
    const wire = open(service.url);
    wire.socket.write(head("POST", departments, [json, "Expect: 100-continue", ...headers()]));
    const answer = await wire.ended;
    expect(statusesIn(answer)).toEqual([status]);
    expect(answer).toMatch(/^Connection: close\r$/m);
  });

  it("a small body that is held back ends the connection too: nobody knows whether it will come", async () => {
    const wire = open(service.url);
    wire.socket.write(head("POST", departments, [json, "Expect: 100-continue", lengthOf(10)]));
    const answer = await wire.ended;
    expect(statusesIn(answer)).toEqual([401]);
    expect(answer).toMatch(/^Connection: close\r$/m);
  });

  it("who may send a body is told to go on, and is answered on a connection that stays", async () => {
    const wire = open(service.url);
    const body = JSON.stringify({ name: "Waited for" });
    wire.socket.write(
      head("POST", departments, [json, "Expect: 100-continue", bearer(clinic.token), lengthOf(body.length)]),
    );
    await wire.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    wire.socket.write(body);
    await wire.until(/"name":"Waited for"/);
    wire.socket.write(head("GET", "/api/users/me", [bearer(nurse), "Connection: close"]));
    expect(statusesIn(await wire.ended)).toEqual([100, 201, 200]);
  });
});

describe("a body that comes all the same", () => {
  it("without end is not taken in without end", async () => {
    const wire = open(service.url);
    wire.socket.write(head("POST", departments, [json, chunked]));
    const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const more = () => {
      while (!wire.socket.destroyed && wire.socket.write(chunk));
    };
    wire.socket.on("drain", more);
    more();
    expect(statusesIn(await wire.ended)).toEqual([401]);
    // What the systems on both sides hold, and what is thrown away for politeness.
    expect(wire.socket.bytesWritten).toBeLessThan(16 * megabyte);
  });

  it.each([
    ["declared", (hidden: string) => [lengthOf(megabyte), hidden + " ".repeat(megabyte - hidden.length)]],
    ["in chunks", (hidden: string) => [chunked, `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`]],
  ] as const)("%s is no request, nor is what follows it", async (_how, bodyOf) => {
    const create = JSON.stringify({ name: "Smuggled" });
    const hidden = head("POST", departments, [json, bearer(clinic.token), lengthOf(create.length)]) + create;
    const [header = "", body = ""] = bodyOf(hidden);
    const wire = open(service.url);
    wire.socket.write(head("POST", departments, [json, header]) + body + hidden);
    expect(statusesIn(await wire.ended)).toEqual([401]);
    expect(await departmentNames()).not.toContain("Smuggled");
  });

  it.each([
    ["refused for its token", () => head("POST", departments, [json, lengthOf(9_000)]), 401],
    ["refused for its path", () => head("POST", "/api/nothing", [json, lengthOf(9_000)]), 404],
    ["where none is wanted", () => head("GET", "/api/users/me", [bearer(nurse), lengthOf(9_000)]), 200],
  ])("small, and %s, is thrown away, and the connection goes on", async (_name, first, status) => {
    const wire = open(service.url);
    wire.socket.write(first());
    await wire.until(/\}$/);
    // Looks like a request, and is not: it is within the length that was declared.
    const body = head("DELETE", "/api/admin/tenants/1", [bearer(clinic.token)]).padEnd(9_000);
    wire.socket.write(body + head("GET", "/api/auth/me", [bearer(nurse), "Connection: close"]));
    const answer = await wire.ended;
    expect(statusesIn(answer)).toEqual([status, 200]);
  });
});

describe("requests sent before the answer to the one before", () => {
  it("are answered one after the other, in order", async () => {
    const wire = open(service.url);
    const ids = Array.from({ length: 20 }, (_, at) => `pipelined-${at}`);
    const requests = ids.map((id) => head("GET", "/api/users/me", [bearer(nurse), `X-Request-Id: ${id}`]));
    wire.socket.write(requests.join("") + head("GET", "/api/nothing", ["Connection: close"]));
    const answer = await wire.ended;
    expect(statusesIn(answer)).toEqual([...ids.map(() => 200), 404]);
    expect([...answer.matchAll(/^X-Request-Id: (pipelined-\d+)\r$/gim)].map(([, id]) => id)).toEqual(ids);
  });

  it("are not heaped up: beyond thirty that wait the connection ends", async () => {
    const wire = open(service.url);
    wire.socket.write(head("GET", "/api/users/me", [bearer(nurse)]).repeat(60));
    expect(statusesIn(await wire.ended).length).toBeLessThan(60);
  });

  it("bring no body: the connection ends, and nothing is done", async () => {
    const wire = open(service.url);
    const body = JSON.stringify({ name: "Pipelined" });
    const second = head("POST", departments, [json, bearer(clinic.token), lengthOf(body.length)]) + body;
    wire.socket.write(head("GET", "/api/users/me", [bearer(nurse)]) + second);
    await wire.ended;
    expect(await departmentNames()).not.toContain("Pipelined");
  });

  it("are not done behind an answer that was the last", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const wire = open(service.url);
    const last = head("GET", "/api/users/me", [bearer(nurse), "Connection: close"]);
    wire.socket.write(last + head("DELETE", `${departments}/${ward.id}`, [bearer(clinic.token)]));
    expect(statusesIn(await wire.ended)).toEqual([200]);
    expect((await service.call("DELETE", `${departments}/${ward.id}`, { token: clinic.token })).status).toBe(
      204,
    );
  });

  it("leave what came before whole, if they are no HTTP at all", async () => {
    const wire = open(service.url);
    wire.socket.write(`${head("GET", "/api/users/me", [bearer(nurse)])}\u0000\u0001 nonsense\r\n\r\n`);
    const answer = await wire.ended;
    expect(statusesIn(answer)).toEqual([200]);
    expect(answer).toMatch(/^Connection: close\r$/m);
  });
});

describe("clients of all kinds see why they were refused", () => {
  const sizes = [
    ["a megabyte", megabyte, 401],
    ["two megabytes", 2 * megabyte, 413],
  ] as const;

  it.each(sizes)("fetch, with %s", async (_size, bytes, status) => {
    for (let times = 0; times < 10; times++) {
      const answer = await service.call("POST", departments, { body: "x".repeat(bytes) });
      expect(answer.status).toBe(status);
    }
  });

  it.each(sizes)("node:http, with %s in pieces", async (_size, bytes, status) => {
    const told = await new Promise<number | undefined>((resolve, reject) => {
      const sending = httpRequest(service.url + departments, {
        method: "POST",
        headers: { "Content-Length": bytes },
      });
      sending.once("response", (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sending.once("error", reject);
      for (let sent = 0; sent < bytes; sent += 65_536) sending.write(Buffer.alloc(65_536));
      sending.end();
    });
    expect(told).toBe(status);
  });

  const hasCurl = spawnSync("curl", ["--version"]).error === undefined;
  // In CI it is there (.ci/run).
  const withCurl = hasCurl || process.env["CI"] === "true" ? it : it.skip;
  withCurl.each([
    ...sizes.map(([size, bytes, status]) => [size, bytes, status, []] as const),
    ["a megabyte in chunks", megabyte, 401, ["-H", chunked]] as const,
    ["a megabyte, not waiting to be told", megabyte, 401, ["-H", "Expect:"]] as const,
  ])("curl, with %s", async (_size, bytes, status, options) => {
    const quiet = ["-sS", "-o", "/dev/null", "-w", "%{http_code}"];
    const target = service.url + departments;
    const curl = promisify(execFile)("curl", [
      ...quiet,
      "-X",
      "POST",
      ...options,
      "--data-binary",
      "@-",
      target,
    ]);
    curl.child.stdin?.on("error", () => {});
    curl.child.stdin?.end(Buffer.alloc(bytes, "x"));
    expect((await curl).stdout).toBe(String(status));
  });
});

it("a hundred and one headers are refused: the last of them would not be seen", async () => {
  const many = Array.from({ length: 99 }, (_, at) => `X-Many-${at}: x`);
  const fits = open(service.url);
  fits.socket.write(head("GET", "/api/auth/tenants", [...many.slice(0, 98), "Connection: close"]));
  expect(statusesIn(await fits.ended)).toEqual([200]);
  const wire = open(service.url);
  wire.socket.write(head("POST", "/api/auth/login", [...many, "X-One: x", lengthOf(100)]));
  const answer = await wire.ended;
  expect(statusesIn(answer)).toEqual([431]);
  expect(answer).toMatch(/"code":"headers_too_large"/);
});

/** Pages and files beside the API, over HTTP. */
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** fetch would tidy the path before sending it. */
function statusOfRaw(path: string): Promise<number | undefined> {
  const { port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, path, agent: false }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode));
    });
    asked.once("error", reject).end();
  });
}

const html = "text/html; charset=utf-8";
const pages: [path: string, type: string, kept: string][] = [
  ["/", html, "no-cache"],
  ["/docs", html, "no-cache"],
  ["/verify-email", html, "no-store"],
  ["/reset-password", html, "no-store"],
  ["/openapi.json", "application/json; charset=utf-8", "no-cache"],
  ["/docs/swagger-ui.css", "text/css; charset=utf-8", "public, max-age=86400"],
  ["/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8", "public, max-age=86400"],
  ["/pages/docs.js", "text/javascript; charset=utf-8", "no-cache"],
  ["/pages/docs.css", "text/css; charset=utf-8", "no-cache"],
  ["/pages/icon.svg", "image/svg+xml", "no-cache"],
  ["/pages/mail-link.js", "text/javascript; charset=utf-8", "no-cache"],
  ["/pages/page.css", "text/css; charset=utf-8", "no-cache"],
  ["/pages/reset-password.js", "text/javascript; charset=utf-8", "no-cache"],
  ["/pages/verify-email.js", "text/javascript; charset=utf-8", "no-cache"],
];

describe("200", () => {
  it.each(pages)("%s as %s", async (path, type, kept) => {
    const { status, headers } = await service.call("GET", path);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("cache-control")).toBe(kept);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-request-id")).toMatch(/^[\w-]{8,64}$/);
    const policy = headers.get("content-security-policy")?.split("; ") ?? [];
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
      ]),
    );
    expect(policy.join()).not.toMatch(/unsafe|\*|https?:/);
  });

  it.each(pages)("HEAD %s tells type and length without a body", async (path, type) => {
    const { headers: told, status, body } = await service.call("HEAD", path);
    const { headers } = await service.call("GET", path);
    expect([status, body]).toEqual([200, ""]);
    expect(told.get("content-type")).toBe(type);
    expect(told.get("content-length")).toBe(headers.get("content-length"));
  });

  it("no page holds an inline script, style or a foreign address", async () => {
    for (const [path] of pages.filter(([, type]) => type === html)) {
      const { body } = await service.call("GET", path);
      expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|https?:|(?:src|href)="\/\//);
    }
  });

  it("the description is that of this installation", async () => {
    const { body } = await service.call("GET", "/openapi.json");
    expect(body.servers[0].url).toBe("/");
    expect(body.servers[1].url).toBe("http://records.test");
  });
});

describe("compressed", () => {
  const bundle = "/docs/swagger-ui-bundle.js";
  it("Swagger's bundle travels in a third of its size, and its text is the same", async () => {
    const plain = await fetch(`${service.url}${bundle}`, { headers: { "accept-encoding": "identity" } });
    const whole = await plain.text();
    expect(whole.length).toBeGreaterThan(1_000_000);
    const lengths: number[] = [];
    for (const coding of ["gzip", "br"]) {
      const packed = await fetch(`${service.url}${bundle}`, { headers: { "accept-encoding": coding } });
      expect(packed.headers.get("content-encoding")).toBe(coding);
      expect(packed.headers.get("vary")).toMatch(/accept-encoding/i);
      expect(await packed.text()).toBe(whole);
      lengths.push(Number(packed.headers.get("content-length")));
    }
    for (const length of lengths) expect(length).toBeLessThan(whole.length / 3);
  });

  it("each form has a tag of its own, and is known by it", async () => {
    const tags = new Set<string>();
    for (const coding of ["identity", "gzip", "br"]) {
      const headers = { "accept-encoding": coding };
      const tag = (await service.call("GET", bundle, { headers })).headers.get("etag") ?? "";
      tags.add(tag);
      const again = await service.call("GET", bundle, { headers: { ...headers, "if-none-match": tag } });
      expect(again.status).toBe(304);
    }
    expect(tags.size).toBe(3);
  });
});

describe("304", () => {
  it.each([
    ["the tag", (tag: string) => tag],
    ["the weak tag", (tag: string) => `W/${tag}`],
    ["the tag among others", (tag: string) => `"x", ${tag}`],
    ["anything", () => "*"],
  ])("to %s", async (_name, header) => {
    const tag = (await service.call("GET", "/openapi.json")).headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]{43}(?:\.gzip)?"$/);
    const { status, body } = await service.call("GET", "/openapi.json", {
      headers: { "if-none-match": header(tag) },
    });
    expect([status, body]).toEqual([304, ""]);
  });

  it.each(['"x"', "", "x"])("not to %j", async (tag) => {
    const { status } = await service.call("GET", "/docs", { headers: { "if-none-match": tag } });
    expect(status).toBe(200);
  });
});

describe("404", () => {
  it.each([
    "/docs/../package.json",
    "/docs/../../package.json",
    "/docs/%2e%2e/package.json",
    "/docs/..%2fpackage.json",
    "/docs/%2e%2e%2fpackage.json",
    "/docs/..%5cpackage.json",
    "/docs/..\\package.json",
    "/docs/%252e%252e%252fpackage.json",
    "/docs/./swagger-ui.css",
    "//docs",
    "/docs/package.json",
    "/docs/index.html",
    "/docs/swagger-initializer.js",
    "/docs/swagger-ui-bundle.js.map",
    "/docs/swagger-ui.css/",
    "/docs/swagger-ui.css%00",
    "/DOCS",
    "/docs;",
    "/pages/page-files.ts",
    "/pages/docs.html",
    "/pages/",
    "/pages/__proto__",
    "/__proto__",
    "/constructor",
    "/static-pages.ts",
    "/.env",
  ])("%s", async (path) => {
    expect(await statusOfRaw(path)).toBe(404);
  });
});

describe("405", () => {
  it.each(
    ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"].flatMap((method) =>
      ["/", "/docs", "/openapi.json", "/verify-email", "/docs/swagger-ui.css"].map((path) => [method, path]),
    ),
  )("%s %s", async (method, path) => {
    const body = method === "POST" ? { some: "body" } : undefined;
    const answer = await service.call(method ?? "", path ?? "", { body });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toBe("GET, HEAD");
    expect(answer.body).toEqual({ detail: "Method not allowed", code: "method_not_allowed" });
  });
});

describe("the log", () => {
  it.each(["/verify-email", "/reset-password"])("does not hold the token of %s", async (path) => {
    const token = "never-in-any-log-0123456789-abcdefghijklmno";
    const id = `logged-${path.slice(1)}`;
    await service.call("GET", `${path}?token=${token}`, { headers: { "x-request-id": id } });
    const written = () => service.process.output();
    const line = await eventually(async () =>
      written()
        .split("\n")
        .find((each) => each.includes(id)),
    );
    expect(JSON.parse(line)).toMatchObject({ mod: "access", requestId: id, route: "-", status: 200 });
    expect(written()).not.toContain(token);
  });

  it("names the code of a refusal", async () => {
    const id = "refused-page";
    await service.call("DELETE", "/docs", { headers: { "x-request-id": id } });
    await service.process.printed(new RegExp(`"requestId":"${id}".*"error":"method_not_allowed"`));
  });
});

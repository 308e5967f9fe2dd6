// Section 4.3: the profile, preferences, and signing out.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { traceOf } from "../support/journal.ts";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser } from "../support/tenancy.ts";

let service: TestService;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
/** Of a user whose preferences no test manages to change. */
let untouched: string;
beforeAll(async () => {
  service = await startService();
  clinic = await makeClinic(service, await service.signIn("superadmin"));
  untouched = await newToken();
});
afterAll(() => service.stop());

async function newToken(): Promise<string> {
  const { email } = await makeUser(service, clinic.token);
  return service.signInAs(email, clinic.subdomain);
}
const get = (token: string): Promise<Answer> => service.call("GET", "/api/preferences", { token });
const put = (token: string, body: unknown): Promise<Answer> =>
  service.call("PUT", "/api/preferences", { token, body });
const putTheme = (token: string, body: unknown): Promise<Answer> =>
  service.call("PUT", "/api/preferences/theme", { token, body });
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

describe("preferences, 200", () => {
  it("whoever never set any has the defaults", async () => {
    const { status, body, headers } = await get(await newToken());
    expect(status).toBe(200);
    expect(body).toEqual({ theme: "system", settings: {}, updated_at: null });
    expect(Object.keys(body)).toEqual(["theme", "settings", "updated_at"]);
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("settings are merged at the top level and null removes a key", async () => {
    const token = await newToken();
    await put(token, { theme: "dark", settings: { a: 1, b: { x: 1 }, c: [1] } });
    const { body } = await put(token, { settings: { a: null, b: { y: 2 }, d: "neu ü" } });
    const expected = { theme: "dark", settings: { b: { y: 2 }, c: [1], d: "neu ü" } };
    expect(body).toMatchObject(expected);
    expect(body.updated_at).toMatch(/^\d{4}-.*Z$/);
    expect((await get(token)).body).toEqual(body);
    expect(body.settings).toEqual(expected.settings);
  });

  it("an absent field is left as it is", async () => {
    const token = await newToken();
    await put(token, { theme: "light", settings: { a: 1 } });
    expect((await put(token, { settings: {} })).body).toMatchObject({ theme: "light", settings: { a: 1 } });
    expect((await put(token, { theme: "dark" })).body).toMatchObject({ theme: "dark", settings: { a: 1 } });
    expect((await put(token, {})).body).toMatchObject({ theme: "dark", settings: { a: 1 } });
    expect((await putTheme(token, { theme: "system", settings: { z: 1 } })).body).toMatchObject({
      theme: "system",
      settings: { a: 1 },
    });
  });

  it("fifty clients that set different keys at once undo nothing of each other", async () => {
    const token = await newToken();
    const keys = Array.from({ length: 50 }, (_, i) => `key${i}`);
    const answers = await Promise.all(keys.map((key) => put(token, { settings: { [key]: key } })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(Object.keys((await get(token)).body.settings).sort()).toEqual(keys.sort());
  });

  it("are each user's own", async () => {
    const [one, other] = [await newToken(), await newToken()];
    await put(one, { theme: "dark", settings: { mine: 1 }, user_id: 1, tenant_id: 1 });
    expect((await get(other)).body).toMatchObject({ theme: "system", settings: {} });
  });

  it("prototype keys are no settings and reach nobody", async () => {
    const token = await newToken();
    const bodies = [
      '{"settings":{"__proto__":{"role":"admin"},"a":1}}',
      '{"__proto__":{"theme":"dark"},"settings":{"b":2}}',
      '{"settings":{"constructor":{"prototype":{"role":"admin"}},"c":3}}',
      '{"settings":{"d":{"__proto__":{"x":1},"y":1}}}',
    ];
    for (const body of bodies) expect((await put(token, body)).status).toBe(200);
    const { body } = await get(token);
    expect(body).toMatchObject({ theme: "system", settings: { a: 1, b: 2, c: 3, d: { y: 1 } } });
    expect(JSON.stringify(body)).not.toMatch(/__proto__|role/);
    expect((await service.call("GET", "/api/users/me", { token })).body.role).toBe("nurse");
  });

  it("all of JSON comes back as it was", async () => {
    const token = await newToken();
    const settings = {
      n: -1.5e-7,
      t: '\u2028 💊 \\ " ü',
      f: false,
      l: [null, [], {}],
      "": "empty key",
      ключ: 1,
    };
    expect((await put(token, { settings })).body.settings).toEqual(settings);
    expect((await get(token)).body.settings).toEqual(settings);
  });

  it("leave one entry that names the fields and not what is in them", async () => {
    const token = await newToken();
    const { entries, events } = await traceOf(service, () =>
      put(token, { theme: "dark", settings: { note: "nobody's business" } }),
    );
    expect(entries).toMatchObject([
      { action: "preferences.update", outcome: "ok", changes: { fields: ["theme", "settings"] } },
    ]);
    expect(events).toEqual([]);
    expect(JSON.stringify(entries)).not.toContain("business");
  });
});

describe("preferences, 422", () => {
  it.each([
    [{ theme: "blue" }, "theme", "literal_error"],
    [{ theme: null }, "theme", "literal_error"],
    [{ theme: "" }, "theme", "literal_error"],
    [{ theme: ["dark"] }, "theme", "literal_error"],
    [{ settings: null }, "settings", "dict_type"],
    [{ settings: [] }, "settings", "dict_type"],
    [{ settings: "{}" }, "settings", "dict_type"],
    [{ settings: 1 }, "settings", "dict_type"],
    [{ settings: nested(9) }, "settings", "value_error"],
    [{ settings: { big: "x".repeat(65_600) } }, "settings", "value_error"],
    [{ settings: { nul: "a\0b" } }, "settings", "value_error"],
  ])("%#: %s", async (body, field, type) => {
    const answer = await put(untouched, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      { loc: expect.arrayContaining(["body", field]), msg: expect.any(String), type },
    ]);
    expect((await get(untouched)).body).toMatchObject({ theme: "system", settings: {} });
  });

  it("depth 8 and just under 64 kB are allowed", async () => {
    const token = await newToken();
    expect((await put(token, { settings: nested(8) })).status).toBe(200);
    expect((await put(token, { settings: { a: null, big: "x".repeat(65_500) } })).status).toBe(200);
  });

  it("what is merged counts as a whole, and a refusal changes nothing, the theme neither", async () => {
    const token = await newToken();
    await put(token, { settings: { a: "x".repeat(40_000) } });
    const { entries } = await traceOf(service, async () => {
      const answer = await put(token, { theme: "dark", settings: { b: "x".repeat(40_000) } });
      expect(answer.status).toBe(422);
      expect(answer.body.detail[0].loc).toEqual(["body", "settings"]);
    });
    expect(entries).toEqual([]);
    const { body } = await get(token);
    expect([body.theme, Object.keys(body.settings)]).toEqual(["system", ["a"]]);
  });

  it.each([undefined, [], "null", '"dark"', { theme: undefined }])("theme %j", async (body) => {
    expect((await putTheme(untouched, body)).status).toBe(422);
  });
});

describe("401", () => {
  it.each([
    ["GET", "/api/users/me"],
    ["GET", "/api/auth/me"],
    ["GET", "/api/preferences"],
    ["PUT", "/api/preferences"],
    ["PUT", "/api/preferences/theme"],
    ["POST", "/api/auth/logout"],
  ])("%s %s without a token, or with half a one", async (method, path) => {
    const token = untouched;
    for (const authorization of ["", token, `Basic ${token}`, "Bearer", `Bearer ${token.slice(0, -2)}`]) {
      const headers: Record<string, string> = authorization === "" ? {} : { authorization };
      const answer = await service.call(method, path, { headers });
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
      expect(answer.body).toEqual({ detail: expect.any(String), code: expect.any(String) });
    }
  });

  it("a token in the query or the body is none", async () => {
    const token = await newToken();
    const byQuery = `/api/users/me?token=${token}&access_token=${token}&authorization=Bearer%20${token}`;
    expect((await service.call("GET", byQuery)).status).toBe(401);
    expect((await service.call("PUT", "/api/preferences", { body: { token } })).status).toBe(401);
    expect(service.process.output()).not.toContain(token);
  });
});

describe("the profile", () => {
  it("shows the department, and null once it is gone", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const user = await makeUser(service, clinic.token, { department_id: ward.id });
    const token = await service.signInAs(user.email, clinic.subdomain);
    const me = async () => (await service.call("GET", "/api/users/me", { token })).body;
    expect((await me()).department).toEqual({ id: ward.id, name: ward.name });
    await service.database.owner.query("delete from departments where id = $1", [ward.id]);
    expect(await me()).toMatchObject({ department_id: null, department: null });
  });

  it("the scheme is read without case, as HTTP has it", async () => {
    const authorization = `bearer ${await newToken()}`;
    expect((await service.call("GET", "/api/users/me", { headers: { authorization } })).status).toBe(200);
  });
});

describe("signing out", () => {
  it("204 without a body; ends this session at once and no other", async () => {
    const { email } = await makeUser(service, clinic.token);
    const [one, other] = [
      await service.signInAs(email, clinic.subdomain),
      await service.signInAs(email, clinic.subdomain),
    ];
    const { entries } = await traceOf(service, async () => {
      const answer = await service.call("POST", "/api/auth/logout", { token: one });
      expect([answer.status, answer.body]).toEqual([204, ""]);
    });
    expect(entries).toMatchObject([{ action: "auth.logout", outcome: "ok", tenant_id: clinic.id }]);
    expect((await service.call("GET", "/api/users/me", { token: one })).status).toBe(401);
    expect((await service.call("POST", "/api/auth/logout", { token: one })).status).toBe(401);
    expect((await service.call("GET", "/api/users/me", { token: other })).status).toBe(200);
  });

  it("takes a body of any kind for none", async () => {
    const token = await newToken();
    expect((await service.call("POST", "/api/auth/logout", { token, body: "{broken" })).status).toBe(204);
  });
});

// Section 4.5: tenants.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { traceOf } from "../support/journal.ts";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let platformId: number;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  platformId = (await service.call("GET", "/api/users/me", { token: superadmin })).body.tenant_id;
});
afterAll(() => service.stop());

const path = (id: number | string) => `/api/admin/tenants/${id}`;
const create = (body: unknown, token = superadmin): Promise<Answer> =>
  service.call("POST", "/api/admin/tenants", { token, body });
const put = (id: number | string, body: unknown, token = superadmin): Promise<Answer> =>
  service.call("PUT", path(id), { token, body });
const get = (id: number | string, token = superadmin): Promise<Answer> =>
  service.call("GET", path(id), { token });
const remove = (id: number | string, token = superadmin): Promise<Answer> =>
  service.call("DELETE", path(id), { token });
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });

describe("200", () => {
  it("a superadmin sees all tenants, the platform too, by id; an administrator only their own", async () => {
    const all = await service.call("GET", "/api/admin/tenants", { token: superadmin });
    expect(all.status).toBe(200);
    const ids = all.body.map(({ id }: { id: number }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(ids).toEqual(expect.arrayContaining([platformId, clinic.id]));
    const own = await service.call("GET", "/api/admin/tenants", { token: clinic.token });
    expect(own.body).toEqual([all.body.find(({ id }: { id: number }) => id === clinic.id)]);
    expect(own.headers.get("cache-control")).toBe("no-store");
  });

  it("one tenant, fields in the interface's order", async () => {
    for (const token of [superadmin, clinic.token]) {
      const { status, body } = await get(clinic.id, token);
      expect(status).toBe(200);
      expect(Object.keys(body)).toEqual(["id", "name", "subdomain", "settings", "is_active", "created_at"]);
      expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
  });

  it("PUT takes what is sent and leaves the rest; the subdomain stays", async () => {
    const { id, subdomain } = await makeClinic(service, superadmin, { a: 1 });
    const renamed = await put(id, { name: "  Neuer Name ", subdomain: "other", id: 1 });
    expect(renamed.body).toMatchObject({ id, name: "Neuer Name", subdomain, settings: { a: 1 } });
    const replaced = await put(id, { settings: { b: 2 } });
    expect(replaced.body).toMatchObject({ name: "Neuer Name", settings: { b: 2 }, is_active: true });
    expect(replaced.body.settings).toEqual({ b: 2 });
    expect((await get(id)).body).toEqual(replaced.body);
  });

  it("an administrator changes name and settings of their own tenant", async () => {
    const own = await makeClinic(service, superadmin);
    const { status, body } = await put(
      own.id,
      { name: "Ours", settings: { registration: "closed" } },
      own.token,
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({ name: "Ours", settings: { registration: "closed" } });
  });

  it("leaves one entry and one event; nothing changed leaves none", async () => {
    const { id } = await makeClinic(service, superadmin);
    const first = await traceOf(service, () => put(id, { name: "Changed", is_active: false }));
    expect(first.entries).toMatchObject([
      { action: "tenant.update", tenant_id: id, outcome: "ok", target_id: String(id) },
    ]);
    expect(first.events).toEqual([
      expect.objectContaining({
        tenant_id: id,
        kind: "tenant.updated",
        payload: { tenant_id: id, fields: ["name", "is_active"] },
      }),
    ]);
    const again = await traceOf(service, () => put(id, { name: "Changed", is_active: false }));
    expect(again).toEqual({ entries: [], events: [] });
  });

  it("is_active is read as Pydantic reads it", async () => {
    const { id } = await makeClinic(service, superadmin);
    expect((await put(id, { is_active: "off" })).body.is_active).toBe(false);
    expect((await put(id, { is_active: 1 })).body.is_active).toBe(true);
  });
});

describe("201", () => {
  it("lower-cases the subdomain, trims the name, keeps free-form settings", async () => {
    const subdomain = unique("MixedCase");
    const settings = { deep: { er: [1, null, "ü"] } };
    const { status, body } = await create({ name: " Klinik Süd ", subdomain: ` ${subdomain} `, settings });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      name: "Klinik Süd",
      subdomain: subdomain.toLowerCase(),
      settings,
      is_active: true,
    });
  });

  it("settings may be left out", async () => {
    expect(await create({ name: "x", subdomain: unique("bare") })).toMatchObject({
      status: 201,
      body: { settings: {} },
    });
  });

  it("is an entry in the new tenant's own log", async () => {
    const subdomain = unique("logged");
    const { entries } = await traceOf(service, () => create({ name: "x", subdomain }));
    expect(entries).toMatchObject([{ action: "tenant.create", outcome: "ok", changes: { subdomain } }]);
    expect(entries[0]?.tenant_id).toBe(Number(entries[0]?.target_id));
  });
});

describe("204", () => {
  it("hides the tenant and everything in it at once", async () => {
    const gone = await makeClinic(service, superadmin);
    const ward = await makeDepartment(service, gone.token);
    const user = await makeUser(service, gone.token, { department_id: ward.id });
    const { entries } = await traceOf(service, async () => {
      const answer = await remove(gone.id);
      expect([answer.status, answer.body]).toEqual([204, ""]);
    });
    expect(entries).toMatchObject([{ action: "tenant.delete", tenant_id: gone.id, outcome: "ok" }]);
    expect((await get(gone.id)).status).toBe(404);
    expect((await put(gone.id, { name: "x" })).status).toBe(404);
    expect((await remove(gone.id)).status).toBe(404);
    const all = await service.call("GET", "/api/admin/tenants", { token: superadmin });
    expect(all.body.map(({ id }: { id: number }) => id)).not.toContain(gone.id);
    expect((await service.call("GET", "/api/users/me", { token: gone.token })).status).toBe(401);
    for (const [method, of] of [
      ["POST", `/api/admin/users/${user.id}/block`],
      ["POST", `/api/admin/users/${user.id}/unblock`],
      ["DELETE", `/api/admin/users/${user.id}`],
      ["DELETE", `/api/admin/departments/${ward.id}`],
    ] as const) {
      expect((await service.call(method, of, { token: superadmin })).status).toBe(404);
    }
  });

  it.each(["users", "departments"])("its %s are in no list and no total, by its id neither", async (list) => {
    const gone = await makeClinic(service, superadmin);
    await makeDepartment(service, gone.token);
    const total = async (query = "") =>
      (await service.call("GET", `/api/admin/${list}?${query}`, { token: superadmin })).body.total;
    const before = await total();
    await remove(gone.id);
    expect(await total()).toBe(before - 1);
    const byId = await service.call("GET", `/api/admin/${list}?tenant_id=${gone.id}`, { token: superadmin });
    expect(byId.body).toMatchObject({ items: [], total: 0, pages: 0 });
    expect(await total(`tenant_id=${gone.id}&search=a`)).toBe(0);
  });

  it("frees the subdomain at once", async () => {
    const gone = await makeClinic(service, superadmin);
    await remove(gone.id);
    expect((await create({ name: "New", subdomain: gone.subdomain })).status).toBe(201);
  });
});

describe("403", () => {
  it("only a superadmin creates, deletes and switches", async () => {
    const body = { name: "x", subdomain: unique("never") };
    expect((await create(body, clinic.token)).status).toBe(403);
    expect((await remove(clinic.id, clinic.token)).status).toBe(403);
    for (const is_active of [false, true]) {
      expect((await put(clinic.id, { name: "x", is_active }, clinic.token)).status).toBe(403);
    }
    expect((await get(clinic.id)).body).toMatchObject({
      is_active: true,
      name: `Tenant ${clinic.subdomain}`,
    });
  });

  it.each(["head_doctor", "doctor", "nurse", "registrar"] as const)(
    "%s has no business here",
    async (role) => {
      const token = await service.signIn(role);
      const own = (await service.call("GET", "/api/users/me", { token })).body.tenant_id;
      const answers = [
        await service.call("GET", "/api/admin/tenants", { token }),
        await get(own, token),
        await put(own, {}, token),
        await create({}, token),
        await remove(own, token),
      ];
      expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    },
  );

  it("a refusal is an entry of the caller's tenant with the target", async () => {
    const { entries } = await traceOf(service, () => remove(platformId, clinic.token));
    expect(entries).toMatchObject([
      {
        action: "tenant.delete",
        outcome: "denied",
        tenant_id: clinic.id,
        user_id: clinic.admin.id,
        target_id: String(platformId),
      },
    ]);
  });
});

describe("404", () => {
  it("a foreign tenant, an unknown one and an impossible id cannot be told apart", async () => {
    const other = await makeClinic(service, superadmin);
    for (const ask of [get, (id: number | string, token: string) => put(id, { name: "x" }, token)]) {
      const ids = [other.id, platformId, 2_000_000_000, 0, -1, "99999999999999999999"];
      const answers = await Promise.all(ids.map((id) => ask(id, clinic.token)));
      expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 404));
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    }
  });
});

describe("409", () => {
  it("a subdomain that is taken, whatever its case; of ten at once one is made", async () => {
    const again = await create({ name: "x", subdomain: clinic.subdomain.toUpperCase() });
    expect(again).toMatchObject({ status: 409, body: { code: "subdomain_taken" } });
    const subdomain = unique("raced");
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name: "x", subdomain })));
    expect(answers.map(({ status }) => status).sort()).toEqual([
      201,
      ...Array.from({ length: 9 }, () => 409),
    ]);
  });

  it("an inactive tenant keeps its subdomain", async () => {
    const { id, subdomain } = await makeClinic(service, superadmin);
    await put(id, { is_active: false });
    expect((await create({ name: "x", subdomain })).status).toBe(409);
  });

  it("the platform is neither deleted nor deactivated, but may be renamed", async () => {
    const { entries, events } = await traceOf(service, async () => {
      expect(await remove(platformId)).toMatchObject({ status: 409, body: { code: "platform_tenant" } });
      const off = await put(platformId, { name: "Not Renamed", is_active: false });
      expect(off).toMatchObject({ status: 409, body: { code: "platform_tenant" } });
    });
    expect([entries, events]).toEqual([[], []]);
    expect((await get(platformId)).body).toMatchObject({ name: "Platform", is_active: true });
    expect((await put(platformId, { is_active: true })).status).toBe(200);
    expect((await put(platformId, { name: "Platform 2" })).body.name).toBe("Platform 2");
  });
});

describe("422", () => {
  it("all failures come back together", async () => {
    const { status, body } = await create({ name: "", settings: [] });
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      { loc: ["body", "name"], msg: "String should have at least 1 character", type: "string_too_short" },
      { loc: ["body", "subdomain"], msg: "Field required", type: "missing" },
      { loc: ["body", "settings"], msg: "Input should be a valid dictionary", type: "dict_type" },
    ]);
  });

  it.each([
    ["subdomain", "ab", "value_error"],
    ["subdomain", "-abc", "value_error"],
    ["subdomain", "a.b", "value_error"],
    ["subdomain", "www", "value_error"],
    ["subdomain", "Platform", "value_error"],
    ["subdomain", "", "string_too_short"],
    ["subdomain", null, "string_type"],
    ["name", "   ", "string_too_short"],
    ["name", "x".repeat(201), "string_too_long"],
    ["name", "a\0", "value_error"],
    ["settings", nested(9), "value_error"],
    ["settings", { x: "y".repeat(65_536) }, "value_error"],
    ["settings", { registration: "anyone" }, "value_error"],
    ["settings", null, "dict_type"],
  ])("%s: %#", async (field, value, type) => {
    const answer = await create({ name: "x", subdomain: "valid-one", [field]: value });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      { loc: expect.arrayContaining(["body", field]), msg: expect.any(String), type },
    ]);
  });

  it.each([
    [{ is_active: "maybe" }, "bool_parsing"],
    [{ is_active: null }, "bool_type"],
    [{ name: null }, "string_type"],
    [{ settings: null }, "dict_type"],
  ])("PUT %j", async (body, type) => {
    const answer = await put(clinic.id, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail[0].type).toBe(type);
  });

  it.each(["x", "1.5", "0x1", "1e3", "%20"])("the id %s is no integer", async (id) => {
    const answer = await get(id);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([
      {
        loc: ["path", "tenant_id"],
        msg: "Input should be a valid integer, unable to parse string as an integer",
        type: "int_parsing",
      },
    ]);
  });
});

// Section 4.8, the audit log as it is read: who sees which entries, filters, dates, order and paging.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let other: Awaited<ReturnType<typeof makeClinic>>;
/** A tenant whose entries lie in the year 2021, one per row: an id, an action, a user and a moment. */
let past: Awaited<ReturnType<typeof makeClinic>>;

beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  other = await makeClinic(service, superadmin);
  past = await makeClinic(service, superadmin);
});
afterAll(() => service.stop());

const list = (query = "", token = clinic.token): Promise<Answer> =>
  service.call("GET", `/api/admin/audit?${query}`, { token });
const actions = async (query: string, token = clinic.token): Promise<string[]> => {
  const { status, body } = await list(`limit=200&${query}`, token);
  expect(status).toBe(200);
  expect(body.total).toBe(body.items.length);
  return body.items.map(({ action }: { action: string }) => action);
};

describe("200", () => {
  it("an entry has all its fields, in order, and says who, what, whence and in which request", async () => {
    const user = await makeUser(service, clinic.token);
    await service.call("POST", `/api/admin/users/${user.id}/block`, {
      token: clinic.token,
      headers: { "x-request-id": "my-own-request-1", "user-agent": "audit-test/1.0" },
    });
    const { status, body, headers } = await list("limit=1");
    expect(status).toBe(200);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(Object.keys(body)).toEqual(["items", "total", "page", "limit", "pages"]);
    expect(Object.keys(body.items[0])).toEqual(
      `id seq tenant_id user_id action target_type target_id outcome changes ip user_agent request_id created_at
       prev_hash hash`.split(/\s+/),
    );
    expect(body.items[0]).toMatchObject({
      tenant_id: clinic.id,
      user_id: clinic.admin.id,
      action: "user.block",
      target_type: "user",
      target_id: String(user.id),
      outcome: "ok",
      ip: "127.0.0.1",
      user_agent: "audit-test/1.0",
      request_id: "my-own-request-1",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      prev_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("newest first; numbers without a gap, each entry naming the hash of the one before", async () => {
    const { body } = await list("limit=200");
    const seqs = body.items.map(({ seq }: { seq: number }) => seq);
    expect(seqs).toEqual(Array.from({ length: body.total }, (_, i) => body.total - i));
    for (const [i, entry] of body.items.slice(0, -1).entries()) {
      expect(entry.prev_hash).toBe(body.items[i + 1].hash);
    }
    expect(body.items.at(-1).prev_hash).toBe("0".repeat(64));
  });

  it("a user agent of any length and kind is kept short and whole", async () => {
    const headers = { "user-agent": `${"long".repeat(200)}"\\` };
    await service.call("POST", "/api/admin/users/2000000000/block", { token: clinic.token, headers });
    await service.call("PUT", "/api/preferences/theme", {
      token: clinic.token,
      headers,
      body: { theme: "dark" },
    });
    const [entry] = (await list("limit=1")).body.items;
    expect(entry.user_agent).toHaveLength(300);
    const verified = await service.call("GET", "/api/admin/audit/verify", { token: clinic.token });
    expect(verified.body.ok).toBe(true);
  });

  it("failed sign-ins and refused calls are entries, refused for what they were", async () => {
    const { email, id } = await makeUser(service, clinic.token);
    const body = { email, password: "wrong-password", subdomain: clinic.subdomain };
    await service.call("POST", "/api/auth/login", { body });
    const token = await service.signInAs(email, clinic.subdomain);
    await service.call("DELETE", `/api/admin/users/${clinic.admin.id}`, { token });
    const { items } = (await list("limit=3")).body;
    expect(items).toMatchObject([
      {
        action: "user.delete",
        outcome: "denied",
        user_id: id,
        target_id: String(clinic.admin.id),
        changes: { code: "forbidden" },
      },
      { action: "auth.login", outcome: "ok", user_id: id, target_id: String(id) },
      { action: "auth.login", outcome: "denied", user_id: null, changes: { reason: "wrong_password" } },
    ]);
  });
});

describe("filters", () => {
  beforeAll(async () => {
    await makeDepartment(service, past.token);
    await makeDepartment(service, past.token);
    const user = await makeUser(service, past.token);
    await service.call("POST", `/api/admin/users/${user.id}/block`, { token: past.token });
    await service.call("POST", `/api/admin/users/${user.id}/unblock`, { token: past.token });
  });

  it("an action is exact, or all of a resource", async () => {
    expect(await actions("action=department.create", past.token)).toEqual([
      "department.create",
      "department.create",
    ]);
    expect((await actions("action=user.*&sort_order=asc", past.token)).sort()).toEqual(
      ["user.block", "user.create", "user.create", "user.unblock"].sort(),
    );
    expect(await actions("action=user.bloc", past.token)).toEqual([]);
    expect(await actions("action=use_.*", past.token)).toEqual([]);
    expect(await actions("action=nothing.*", past.token)).toEqual([]);
  });

  it("a user is who did it", async () => {
    const { body } = await list(`user_id=${past.admin.id}&limit=200`, past.token);
    const ids = body.items.map(({ user_id: id }: { user_id: number }) => id);
    expect(new Set(ids)).toEqual(new Set([past.admin.id]));
    expect(await actions("user_id=2000000000", past.token)).toEqual([]);
  });

  it("all together", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const query = `action=user.*&user_id=${past.admin.id}&from_date=${today}&to_date=2100-01-01`;
    expect(await actions(`${query}&sort_order=asc`, past.token)).toEqual([
      "user.create",
      "user.block",
      "user.unblock",
    ]);
  });

  it("null and empty are no filter for the tenant and the page", async () => {
    expect((await list("page=", past.token)).body.page).toBe(1);
  });
});

describe("dates", () => {
  const moments = [
    "2021-03-01T00:00:00.000Z",
    "2021-03-01T12:00:00.000Z",
    "2021-03-01T23:59:59.999Z",
    "2021-03-02T00:00:00.000Z",
    "2021-03-03T10:30:15.250Z",
  ];
  beforeAll(async () => {
    const { owner } = service.database;
    // Only the database can set a time: the chain's own trigger would put in the present.
    await owner.query("begin");
    await owner.query("set local session_replication_role = replica");
    for (const [i, moment] of moments.entries()) {
      await owner.query(
        `insert into audit_entries (tenant_id, seq, action, outcome, created_at, prev_hash, hash)
         values ($1, $2, 'test.moment', 'ok', $3, '\\x00', '\\x00')`,
        [past.id, 1000 + i, moment],
      );
    }
    await owner.query("commit");
  });

  const count = async (query: string): Promise<number> => {
    const { status, body } = await list(`action=test.moment&${query}`, past.token);
    expect(status).toBe(200);
    expect(body.items).toHaveLength(body.total);
    return body.total;
  };

  it.each([
    ["", 5],
    ["from_date=2021-03-01", 5],
    ["from_date=2021-03-02", 2],
    ["from_date=2021-03-04", 0],
    ["to_date=2021-03-01", 3],
    ["to_date=2021-02-28", 0],
    ["to_date=2021-03-02", 4],
    ["from_date=2021-03-01&to_date=2021-03-01", 3],
    ["from_date=2021-03-02&to_date=2021-03-02", 1],
    ["from_date=2021-03-01T12:00:00Z", 4],
    ["to_date=2021-03-01T12:00:00Z", 2],
    ["to_date=2021-03-01T00:00:00Z", 1],
    ["from_date=2021-03-01T12:00:00Z&to_date=2021-03-01T12:00:00Z", 1],
    ["from_date=2021-03-01T12:00:00.001Z&to_date=2021-03-01", 1],
    ["from_date=2021-03-01T13:00:00%2B01:00&to_date=2021-03-01T13:00:00%2B01:00", 1],
    ["from_date=2021-03-01T12:00&to_date=2021-03-01T12:00", 1],
    ["from_date=2021-03-01%2012:00:00&to_date=2021-03-01%2012:00:00", 1],
    ["from_date=2021-03-03T10:30:15.25Z", 1],
    ["from_date=0001-01-01&to_date=9999-12-31", 5],
  ])("%s finds %d", async (query, expected) => {
    expect(await count(query)).toBe(expected);
  });

  it.each([
    "from_date=2021-03-02&to_date=2021-03-01",
    "from_date=2021-03-01T12:00:01Z&to_date=2021-03-01T12:00:00Z",
    "from_date=2021-03-02T00:00:00Z&to_date=2021-03-01",
    "from_date=9999-12-31&to_date=0001-01-01",
  ])("%s is the wrong way round", async (query) => {
    const { status, body } = await list(query, past.token);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["query", "from_date"], type: "value_error" }]);
  });
});

describe("order and pages", () => {
  it.each(["created_at", "id", "seq", "action", "user_id"])("by %s, ties by id", async (sort) => {
    for (const order of ["asc", "desc"]) {
      const ids: number[] = [];
      for (let page = 1; page <= 4; page++) {
        const query = `sort_by=${sort}&sort_order=${order}&limit=5&page=${page}`;
        ids.push(...(await list(query)).body.items.map(({ id }: { id: number }) => id));
      }
      const { rows } = await service.database.owner.query(
        `select id::integer from audit_entries where tenant_id = $1 order by ${sort} ${order}, id ${order} limit 20`,
        [clinic.id],
      );
      expect(ids).toEqual(rows.map(({ id }: { id: number }) => id));
    }
  });

  it("page beyond the end is empty with the total", async () => {
    const { total } = (await list()).body;
    expect((await list("page=500")).body).toMatchObject({ items: [], total });
    expect((await list("page=500&action=user.*")).body.total).toBe((await list("action=user.*")).body.total);
  });
});

describe("who sees what", () => {
  it("an administrator only their own tenant's, in items and totals", async () => {
    const { body } = await list("limit=200");
    expect(new Set(body.items.map(({ tenant_id: id }: { tenant_id: number }) => id))).toEqual(
      new Set([clinic.id]),
    );
    const { rows } = await service.database.owner.query(
      "select count(*)::integer as total from audit_entries where tenant_id = $1",
      [clinic.id],
    );
    expect(body.total).toBe(rows[0].total);
    expect((await list(`tenant_id=${clinic.id}`)).body.total).toBe(rows[0].total);
  });

  it("a superadmin all, or one tenant's; the total is exact", async () => {
    const count = async (where: string) =>
      (
        await service.database.owner.query(
          `select count(*)::integer as total from audit_entries where ${where}`,
        )
      ).rows[0].total;
    const one = await list(`tenant_id=${other.id}`, superadmin);
    expect(one.body.total).toBe(await count(`tenant_id = ${other.id}`));
    const logins = await list("action=auth.login", superadmin);
    expect(logins.body.total).toBe(await count("action = 'auth.login'"));
  });

  it.each(["head_doctor", "doctor", "nurse", "registrar"] as const)("%s nothing", async (role) => {
    const token = await service.signIn(role);
    expect((await list("", token)).status).toBe(403);
    expect((await service.call("GET", "/api/admin/audit/verify", { token })).status).toBe(403);
  });

  it("403 for another tenant's", async () => {
    expect((await list(`tenant_id=${other.id}`)).status).toBe(403);
    const verify = `/api/admin/audit/verify?tenant_id=${other.id}`;
    expect((await service.call("GET", verify, { token: clinic.token })).status).toBe(403);
  });

  it("a deleted tenant's log stays for the superadmin", async () => {
    const gone = await makeClinic(service, superadmin);
    await service.call("DELETE", `/api/admin/tenants/${gone.id}`, { token: superadmin });
    const found = await actions(`tenant_id=${gone.id}`, superadmin);
    expect(found[0]).toBe("tenant.delete");
  });

  it("no other method is offered", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH"]) {
      const answer = await service.call(method, "/api/admin/audit", { token: superadmin });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
    expect((await service.call("DELETE", "/api/admin/audit/1", { token: superadmin })).status).toBe(404);
  });
});

describe("422", () => {
  it.each([
    ["action=user", "action", "value_error"],
    ["action=*", "action", "value_error"],
    ["action=user.%25", "action", "value_error"],
    ["action=User.Block", "action", "value_error"],
    [`action=${"x".repeat(101)}`, "action", "string_too_long"],
    ["user_id=x", "user_id", "int_parsing"],
    ["user_id=0", "user_id", "greater_than_equal"],
    ["user_id=2147483648", "user_id", "less_than_equal"],
    ["from_date=yesterday", "from_date", "datetime_from_date_parsing"],
    ["from_date=2021-02-30", "from_date", "datetime_from_date_parsing"],
    ["to_date=2021-13-01", "to_date", "datetime_from_date_parsing"],
    ["to_date=2021-03-01T25:00:00Z", "to_date", "datetime_from_date_parsing"],
    ["to_date='%3B%20drop%20table%20users", "to_date", "datetime_from_date_parsing"],
    ["to_date=infinity", "to_date", "datetime_from_date_parsing"],
    ["sort_by=hash", "sort_by", "literal_error"],
    ["sort_order=newest", "sort_order", "literal_error"],
    ["limit=201", "limit", "less_than_equal"],
    ["page=0", "page", "greater_than_equal"],
    ["page=2002", "page", "value_error"],
  ])("%s", async (query, field, type) => {
    const { status, body } = await list(query);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ["query", field], type }]);
  });
});

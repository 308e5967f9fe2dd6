// Section 4.7, the list: paging, order, filters and search, and totals that are exact whatever happened before.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser } from "../support/tenancy.ts";

const roles = ["superadmin", "admin", "head_doctor", "doctor", "nurse", "registrar"] as const;
const sorts = ["id", "email", "full_name", "role", "is_active", "created_at"] as const;

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let other: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  other = await makeClinic(service, superadmin);
});
afterAll(() => service.stop());

const list = (query = "", token = clinic.token): Promise<Answer> =>
  service.call("GET", `/api/admin/users?${query}`, { token });
const found = async (search: string, token = clinic.token): Promise<string[]> => {
  const { status, body } = await list(`limit=200&search=${encodeURIComponent(search)}`, token);
  expect(status).toBe(200);
  expect(body.total).toBe(body.items.length);
  return body.items.map(({ full_name: name }: { full_name: string }) => name);
};

/** Rows as the service would write them, without the time a password takes. */
async function insert(tenantId: number, people: readonly { name: string; email?: string; role?: string }[]) {
  const { rows } = await service.database.owner.query(
    `insert into users (tenant_id, email, full_name, role, approved_at, email_verified, password_hash, created_at)
     select $1, coalesce(p.email, 'p' || md5(random()::text) || '@x.example'), p.name, coalesce(p.role, 'nurse'),
       now(), true, '-', '2026-01-01T00:00:00Z'
     from json_to_recordset($2) as p (name text, email text, role text) returning id`,
    [tenantId, JSON.stringify(people)],
  );
  return rows.map(({ id }: { id: number }) => id);
}

/** Numbers from 0 to `below`, the same in every run. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe("pages", () => {
  it("the envelope is items, total, page, limit and pages", async () => {
    const { status, body, headers } = await list();
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["items", "total", "page", "limit", "pages"]);
    expect(body).toMatchObject({ page: 1, limit: 50 });
    expect(headers.get("cache-control")).toBe("no-store");
  });

  it("walking all pages meets everybody once, in every order, also where many are equal", async () => {
    const own = await makeClinic(service, superadmin);
    await insert(
      own.id,
      Array.from({ length: 46 }, (_, i) => ({ name: `Same Name ${i % 3}` })),
    );
    for (const sort of sorts) {
      for (const order of ["asc", "desc"]) {
        const ids: number[] = [];
        for (let page = 1; page <= 5; page++) {
          const query = `sort_by=${sort}&sort_order=${order}&limit=10&page=${page}`;
          const { body } = await list(query, own.token);
          expect(body).toMatchObject({ total: 47, page, limit: 10, pages: 5 });
          ids.push(...body.items.map(({ id }: { id: number }) => id));
        }
        expect([ids.length, new Set(ids).size]).toEqual([47, 47]);
        const { rows } = await service.database.owner.query(
          `select id from users where tenant_id = $1
           order by ${sort === "email" || sort === "full_name" ? `lower(${sort})` : sort} ${order}, id ${order}`,
          [own.id],
        );
        expect(ids).toEqual(rows.map(({ id }: { id: number }) => id));
      }
    }
  });

  it("beyond the last page there is nothing, and the total still", async () => {
    expect((await list("page=1000&limit=100")).body).toMatchObject({ items: [], page: 1000 });
    expect((await list("page=1000")).body.total).toBe((await list()).body.total);
    expect((await list("page=1000&search=a")).body.total).toBe((await list("search=a")).body.total);
  });

  it.each(["page=", "page=1", "page=+1", "page=%201", "page=1.0", "page=2&page=1"])(
    "%s is page 1",
    async (query) => {
      expect((await list(query)).body.page).toBe(1);
    },
  );

  it.each([
    ["page=0", "page", "greater_than_equal"],
    ["page=-1", "page", "greater_than_equal"],
    ["page=1.5", "page", "int_parsing"],
    ["page=x", "page", "int_parsing"],
    ["page=99999999999999999999", "page", expect.any(String)],
    ["page=2001&limit=50", undefined, undefined],
    ["page=2002&limit=50", "page", "value_error"],
    ["page=100001&limit=1", undefined, undefined],
    ["page=100002&limit=1", "page", "less_than_equal"],
    ["limit=1", undefined, undefined],
    ["limit=200", undefined, undefined],
    ["limit=201", "limit", "less_than_equal"],
    ["limit=0", "limit", "greater_than_equal"],
    ["limit=", "limit", "int_parsing"],
    ["limit=NaN", "limit", "int_parsing"],
    ["sort_by=password_hash", "sort_by", "literal_error"],
    ["sort_by=id,email", "sort_by", "literal_error"],
    ["sort_by=", "sort_by", "literal_error"],
    ["sort_by=ID", "sort_by", "literal_error"],
    ["sort_by=__proto__", "sort_by", "literal_error"],
    ["sort_by=id%3B%20drop%20table%20users", "sort_by", "literal_error"],
    ["sort_order=ascending", "sort_order", "literal_error"],
    ["sort_order=DESC", "sort_order", "literal_error"],
    ["role=god", "role", "literal_error"],
    ["is_active=maybe", "is_active", "bool_parsing"],
    ["is_active=2", "is_active", "bool_parsing"],
    ["tenant_id=x", "tenant_id", "int_parsing"],
    [`search=${"x".repeat(201)}`, "search", "string_too_long"],
    ["search=a%00b", "search", expect.any(String)],
  ])("%s", async (query, field, type) => {
    const { status, body } = await list(query);
    expect(status).toBe(field === undefined ? 200 : 422);
    if (field !== undefined) expect(body.detail).toMatchObject([{ loc: ["query", field], type }]);
  });

  it("everything that is wrong comes back together", async () => {
    const { body } = await list("page=0&limit=x&sort_by=y&sort_order=z&role=q&is_active=w");
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc[1]).sort()).toEqual(
      ["is_active", "limit", "page", "role", "sort_by", "sort_order"].sort(),
    );
  });
});

describe("filters", () => {
  it.each(["true", "1", "t", "yes", "ON", "Y"])("is_active=%s means true", async (value) => {
    const { body } = await list(`is_active=${value}`);
    expect(body.items.every((user: { is_active: boolean }) => user.is_active)).toBe(true);
    expect(body.total).toBeGreaterThan(0);
  });

  it.each(["false", "0", "f", "no", "OFF", "N"])("is_active=%s means false", async (value) => {
    expect((await list(`is_active=${value}`)).body.total).toBe(0);
  });

  it("arrays, objects and unknown parameters are no filters", async () => {
    const { total } = (await list()).body;
    for (const query of ["role[]=admin", "role[$ne]=admin", "q=x", "is_active[]=false"]) {
      expect((await list(query)).body.total).toBe(total);
    }
  });

  it("of a repeated tenant the last one counts, so it cannot be smuggled past the check", async () => {
    const query = `tenant_id=${clinic.id}&tenant_id=${other.id}`;
    expect((await list(query)).status).toBe(403);
  });
});

describe("search", () => {
  const names = [
    "Ärmel Über",
    "Percent 100% Sure",
    "Under_Score",
    "UnderXScore",
    "Back\\Slash",
    "O'Neill; drop",
    "Łukasz Żółć",
    "Jo Li",
    "ИВАН Петров",
    "Zoë-Mae",
    "李 小龙",
  ];
  beforeAll(async () => {
    await insert(
      clinic.id,
      names.map((name, i) => ({ name, email: `Search.${i}@Find.Example` })),
    );
    await insert(
      other.id,
      names.map((name) => ({ name: `Foreign ${name}` })),
    );
  });

  it.each([
    ["ärmel", ["Ärmel Über"]],
    ["ÜBER", ["Ärmel Über"]],
    ["Ärmel Über".normalize("NFD"), ["Ärmel Über"]],
    ["100%", ["Percent 100% Sure"]],
    ["%", ["Percent 100% Sure"]],
    ["%%", []],
    ["_", ["Under_Score"]],
    ["r_s", ["Under_Score"]],
    ["under", ["Under_Score", "UnderXScore"]],
    ["\\", ["Back\\Slash"]],
    ["\\\\", []],
    ["k\\s", ["Back\\Slash"]],
    ["o'neill; DROP", ["O'Neill; drop"]],
    ["żółć", ["Łukasz Żółć"]],
    ["łu", ["Łukasz Żółć"]],
    ["иван", ["ИВАН Петров"]],
    ["jo", ["Jo Li"]],
    ["小", ["李 小龙"]],
    ["zoë", ["Zoë-Mae"]],
    ["search.4@find", ["Back\\Slash"]],
    ["  SEARCH.4@FIND.EXAMPLE  ", ["Back\\Slash"]],
    ["foreign", []],
    ["nobody at all", []],
    ["x".repeat(200), []],
  ])("%j finds %j", async (search, expected) => {
    expect(await found(search)).toEqual(expected);
  });

  it("any piece of a name or an address finds exactly those who have it", async () => {
    const roll = dice(20_261_121);
    const { rows } = await service.database.owner.query<{ words: string }>(
      "select full_name || email as words from users where tenant_id = $1 and deleted_at is null",
      [clinic.id],
    );
    for (let i = 0; i < 60; i++) {
      const letters = Array.from(rows[roll(rows.length)]?.words ?? "");
      const start = roll(letters.length);
      const piece = letters.slice(start, start + 1 + roll(12)).join("");
      const expected = await service.database.owner.query(
        `select full_name from users where tenant_id = $1 and deleted_at is null
           and position(lower($2) in search_text) > 0 order by id`,
        [clinic.id, piece.trim()],
      );
      if (piece.trim() === "") continue;
      expect([piece, await found(piece)]).toEqual([piece, expected.rows.map((row) => row.full_name)]);
    }
  });

  it("nothing, or only spaces, is no search", async () => {
    const { total } = (await list()).body;
    expect((await list("search=")).body.total).toBe(total);
    expect((await list("search=%20%20")).body.total).toBe(total);
  });

  it("together with filters, order and paging", async () => {
    await insert(clinic.id, [
      { name: "Combi A", role: "doctor" },
      { name: "Combi B", role: "nurse" },
      { name: "combi C", role: "doctor" },
    ]);
    const { body } = await list("search=combi&role=doctor&sort_by=full_name&sort_order=desc&limit=1&page=2");
    expect(body).toMatchObject({ total: 2, pages: 2, items: [{ full_name: "Combi A" }] });
  });

  it("over all tenants for a superadmin, or in one of them", async () => {
    expect(await found("under_", superadmin)).toEqual(["Under_Score", "Foreign Under_Score"]);
    const one = await list(`search=under_&tenant_id=${other.id}`, superadmin);
    expect(one.body).toMatchObject({ total: 1, items: [{ full_name: "Foreign Under_Score" }] });
  });

  it("deleted people are not found", async () => {
    const user = await makeUser(service, clinic.token, { full_name: "Vanishing Person" });
    expect(await found("vanishing")).toHaveLength(1);
    await service.call("DELETE", `/api/admin/users/${user.id}`, { token: clinic.token });
    expect(await found("vanishing")).toEqual([]);
  });

  it("what was searched is not in the log", () => {
    expect(service.process.output()).not.toMatch(/nobody|vanishing|neill/i);
  });
});

describe("totals", () => {
  /** Every list against a real count, for every combination of role, state and tenant, with and without a search. */
  async function expectExact(tenantIds: readonly (number | undefined)[]): Promise<void> {
    for (const tenantId of tenantIds) {
      for (const role of [undefined, ...roles]) {
        for (const isActive of [undefined, true, false]) {
          for (const search of [undefined, "random p"]) {
            const query = new URLSearchParams({ limit: "1" });
            if (tenantId !== undefined) query.set("tenant_id", String(tenantId));
            if (role !== undefined) query.set("role", role);
            if (isActive !== undefined) query.set("is_active", String(isActive));
            if (search !== undefined) query.set("search", search);
            const { rows } = await service.database.owner.query(
              `select count(*)::integer as total from users where deleted_at is null
                 and tenant_id in (select id from tenants where deleted_at is null)
                 and ($1::integer is null or tenant_id = $1) and ($2::text is null or role = $2)
                 and ($3::boolean is null or is_active = $3) and ($4::text is null or search_text like '%' || $4 || '%')`,
              [tenantId, role, isActive, search],
            );
            const { body } = await list(query.toString(), superadmin);
            expect([query.toString(), body.total]).toEqual([query.toString(), rows[0].total]);
          }
        }
      }
    }
  }

  it("are exact after hundreds of random creations, blocks, roles, deletions and moves, many at once", async () => {
    const roll = dice(20_260_101);
    const people = (count: number) =>
      Array.from({ length: count }, (_, i) => ({
        name: `Random Person ${i}`,
        role: roles[2 + roll(4)] ?? "nurse",
      }));
    const ids = [...(await insert(clinic.id, people(60))), ...(await insert(other.id, people(40)))];
    const acts = Array.from({ length: 300 }, () => ({
      what: roll(5),
      id: ids[roll(ids.length)] ?? 0,
      role: roll(5),
    }));
    for (let i = 0; i < acts.length; i += 10) {
      await Promise.all(
        acts.slice(i, i + 10).map(async ({ what, id, role }) => {
          const path = `/api/admin/users/${id}`;
          const body = { role: roles[1 + role] };
          if (what === 0) return service.call("POST", `${path}/block`, { token: superadmin });
          if (what === 1) return service.call("POST", `${path}/unblock`, { token: superadmin });
          if (what === 2 && role === 0) return service.call("DELETE", path, { token: superadmin });
          return service.call("PUT", `${path}/role`, { token: superadmin, body });
        }),
      );
    }
    await expectExact([undefined, clinic.id, other.id]);
  });

  it("follow a change that was rolled back, and a tenant that is deleted", async () => {
    const { owner } = service.database;
    const before = (await list("", superadmin)).body.total;
    await owner.query("begin");
    await insert(clinic.id, [{ name: "Never Committed" }]);
    await owner.query("rollback");
    expect((await list("", superadmin)).body.total).toBe(before);
    const gone = await makeClinic(service, superadmin);
    await insert(gone.id, [{ name: "Gone Soon" }, { name: "Gone Too" }]);
    await service.call("DELETE", `/api/admin/tenants/${gone.id}`, { token: superadmin });
    await expectExact([undefined, clinic.id]);
    expect((await list(`tenant_id=${gone.id}`, superadmin)).body.total).toBe(0);
  });

  it("never count a foreign tenant", async () => {
    const { rows } = await service.database.owner.query(
      "select count(*)::integer as own from users where tenant_id = $1 and deleted_at is null",
      [clinic.id],
    );
    for (const query of ["", `tenant_id=${clinic.id}`])
      expect((await list(query)).body.total).toBe(rows[0].own);
  });

  it("a head doctor reads the list of their own tenant", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const head = await makeUser(service, clinic.token, { role: "head_doctor", department_id: ward.id });
    const token = await service.signInAs(head.email, clinic.subdomain);
    const { status, body } = await list("limit=200", token);
    expect(status).toBe(200);
    expect(new Set(body.items.map((user: { tenant_id: number }) => user.tenant_id))).toEqual(
      new Set([clinic.id]),
    );
    expect((await list(`tenant_id=${other.id}`, token)).status).toBe(403);
  });
});

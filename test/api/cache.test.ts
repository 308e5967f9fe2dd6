// Section 4.10: the cache, seen through the API. What it may never do is in test/api/cache-freshness.test.ts.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Clinic;
let other: Clinic;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await freshClinic();
  other = await freshClinic();
});
afterAll(() => service.stop());

interface Clinic {
  id: number;
  admin: string;
  doctor: string;
}
async function freshClinic(): Promise<Clinic> {
  const { id, token, subdomain } = await makeClinic(service, superadmin);
  const { email } = await makeUser(service, token, { can_see_all_patients: true });
  return { id, admin: token, doctor: await service.signInAs(email, subdomain) };
}
const cache = (verb: "cleanup" | "invalidate" | "warmup", token: string, body?: unknown) =>
  service.call("POST", `/api/admin/cache/${verb}`, { token, body });
const stats = async (token: string) => (await service.call("GET", "/api/admin/cache/stats", { token })).body;
const create = async (of = clinic, more = {}) => {
  const body = { record_number: unique("R-"), full_name: "Anna Muster", ...more };
  return (await service.call("POST", "/api/patients", { token: of.doctor, body })).body;
};
const read = (id: number, token = clinic.doctor) => service.call("GET", `/api/patients/${id}`, { token });
const list = (id: number, query = "", token = clinic.doctor) =>
  service.call("GET", `/api/patients/${id}/records?${query}`, { token });

describe("reading", () => {
  it("a second time comes from the cache, with the same answer and an audit entry of its own", async () => {
    const patient = await create();
    const before = await stats(clinic.admin);
    expect((await read(patient.id)).body).toEqual(patient);
    expect((await read(patient.id)).body).toEqual(patient);
    const after = await stats(clinic.admin);
    expect([after.hits - before.hits, after.misses - before.misses]).toEqual([1, 1]);
    expect(after.entries).toBe(before.entries + 1);
    const { rows } = await service.database.owner.query(
      "select seq from audit_entries where tenant_id = $1 and action = 'patient.read' and target_id = $2",
      [clinic.id, String(patient.id)],
    );
    expect(rows).toHaveLength(2);
  });

  it("records come from the cache page by page, in either order, and are counted in the audit log", async () => {
    const { id } = await create();
    const made = [];
    for (let i = 0; i < 7; i++) {
      const body = { kind: "finding", body: `finding ${i}` };
      made.push(
        (await service.call("POST", `/api/patients/${id}/records`, { token: clinic.doctor, body })).body,
      );
    }
    for (const _ of ["from the database", "from the cache"]) {
      expect((await list(id)).body).toEqual({ items: made, total: 7, page: 1, limit: 50, pages: 1 });
      const second = (await list(id, "page=2&limit=3&sort_order=desc&sort_by=created_at")).body;
      expect(second).toEqual({ items: made.slice(1, 4).reverse(), total: 7, page: 2, limit: 3, pages: 3 });
      expect((await list(id, "page=9&limit=3")).body).toMatchObject({ items: [], total: 7 });
    }
    const { rows } = await service.database.owner.query(
      "select changes from audit_entries where tenant_id = $1 and action = 'record.list' and target_id = $2 order by id",
      [clinic.id, String(id)],
    );
    expect(rows.map(({ changes }) => changes.count)).toEqual([7, 3, 0, 7, 3, 0]);
  });

  it("more records than are remembered are listed from the database", async () => {
    const { id } = await create();
    await service.database.owner.query(
      `insert into patient_records (tenant_id, patient_id, kind, body)
       select $1, $2, 'x', (select identity from patients where id = $2) from generate_series(1, 201)`,
      [clinic.id, id],
    );
    const { body } = await list(id, "limit=1");
    expect([body.total, body.items[0].unreadable]).toEqual([201, ["body"]]);
  });

  it("that records are too long to be remembered is remembered, so they are not read in vain each time", async () => {
    const { id } = await create();
    const write = (text: string) =>
      service.call("POST", `/api/patients/${id}/records`, {
        token: clinic.doctor,
        body: { kind: "scan", body: text },
      });
    for (let nth = 1; nth <= 24; nth++) expect((await write(`${nth % 9}`.repeat(10_000))).status).toBe(201);
    const before = await stats(clinic.admin);
    for (let nth = 0; nth < 3; nth++) {
      const { body } = await list(id, "limit=1&sort_order=desc");
      expect([body.total, body.items[0].body]).toEqual([24, "6".repeat(10_000)]);
    }
    const after = await stats(clinic.admin);
    expect(after.bytes - before.bytes).toBeLessThan(2_000);
    expect([after.misses - before.misses, after.hits - before.hits]).toEqual([1, 2]);
    expect((await write("short")).status).toBe(201);
    expect((await list(id, "limit=1&sort_order=desc")).body.items[0].body).toBe("short");
  });

  it.each([
    ["notes", "update patients set notes = identity where id = $1"],
    ["an identity", "update patients set identity = substr(identity, 1, 40) where id = $1"],
  ])("a patient with %s that does not open is not remembered", async (_what, statement) => {
    const { id } = await create();
    await service.database.owner.query(statement, [id]);
    const before = await stats(clinic.admin);
    for (let i = 0; i < 2; i++) expect((await read(id)).body.code).toBe("sealed_field_unreadable");
    expect((await stats(clinic.admin)).entries).toBe(before.entries);
  });
});

describe("what is in the cache is seen by those who may", () => {
  it("a patient of another department is not there, though it is remembered", async () => {
    const department = await makeDepartment(service, clinic.admin);
    const patient = await create(clinic, { department_id: department.id });
    await read(patient.id);
    const nurse = await makeUser(service, clinic.admin);
    const { subdomain } = (
      await service.call("GET", `/api/admin/tenants/${clinic.id}`, { token: superadmin })
    ).body;
    const token = await service.signInAs(nurse.email, subdomain);
    const hidden = await read(patient.id, token);
    const never = await read(2_000_000_000, token);
    expect([hidden.status, hidden.body]).toEqual([404, never.body]);
    expect((await list(patient.id, "", token)).status).toBe(404);
  });

  it("another tenant's is not there", async () => {
    const patient = await create();
    await read(patient.id);
    expect((await read(patient.id, other.doctor)).status).toBe(404);
    expect((await read(patient.id, superadmin)).status).toBe(404);
  });

  it("a deleted one is not there any more", async () => {
    const patient = await create();
    await read(patient.id);
    await service.call("DELETE", `/api/patients/${patient.id}`, { token: clinic.doctor });
    expect((await read(patient.id)).status).toBe(404);
    expect((await list(patient.id)).status).toBe(404);
  });
});

describe("warm-up", () => {
  it("loads the own patients; unknown, foreign, deleted and repeated ids are skipped", async () => {
    const patients = [];
    for (let i = 0; i < 20; i++) patients.push(await create());
    const foreign = await create(other);
    const gone = await create();
    await service.call("DELETE", `/api/patients/${gone.id}`, { token: clinic.doctor });
    const ids = patients.map(({ id }) => id);
    const patient_ids = [...ids, ids[0], foreign.id, gone.id, 2_000_000_000];
    const { status, body } = await cache("warmup", clinic.admin, { patient_ids });
    expect([status, body]).toEqual([200, { warmed: 20, skipped: 4 }]);
    const before = await stats(clinic.admin);
    for (const patient of patients) expect((await read(patient.id)).body).toEqual(patient);
    const after = await stats(clinic.admin);
    expect([after.hits - before.hits, after.misses - before.misses]).toEqual([20, 0]);
  });

  it("a superadmin's reaches every tenant", async () => {
    const [one, two] = [await create(), await create(other)];
    const { body } = await cache("warmup", superadmin, { patient_ids: [one.id, two.id] });
    expect(body).toEqual({ warmed: 2, skipped: 0 });
  });

  it.each([
    ["nothing", {}, "missing"],
    ["no list", { patient_ids: 5 }, "list_type"],
    ["too many", { patient_ids: Array.from({ length: 1_001 }, (_, i) => i + 1) }, "too_long"],
    ["no id", { patient_ids: ["x"] }, "int_parsing"],
    ["an id that cannot be", { patient_ids: [0] }, "greater_than_equal"],
  ])("of %s is refused: 422", async (_what, sent, type) => {
    const { status, body } = await cache("warmup", clinic.admin, sent);
    expect([status, body.detail[0].type]).toEqual([422, type]);
  });
});

describe("invalidation and cleanup", () => {
  it("of one patient, of all of the tenant, and nothing of another tenant's", async () => {
    const [one, two, foreign] = [await create(), await create(), await create(other)];
    for (const { id } of [one, two]) {
      await read(id);
      await list(id);
    }
    await read(foreign.id, other.doctor);
    expect((await cache("invalidate", clinic.admin, { patient_id: one.id })).body).toEqual({
      invalidated: 1,
    });
    expect((await cache("invalidate", clinic.admin, { patient_id: one.id, all: false })).body).toEqual({
      invalidated: 0,
    });
    expect((await cache("invalidate", clinic.admin, { patient_id: foreign.id })).body).toEqual({
      invalidated: 0,
    });
    const before = await stats(other.admin);
    expect((await cache("invalidate", clinic.admin, { all: true })).body.invalidated).toBeGreaterThan(0);
    expect((await stats(clinic.admin)).entries).toBe(0);
    expect(await stats(other.admin)).toEqual(before);
    expect((await cache("invalidate", superadmin, { patient_id: foreign.id })).body).toEqual({
      invalidated: 1,
    });
    expect((await cache("cleanup", clinic.admin)).body).toEqual({ removed: 0, remaining: 0, bytes_freed: 0 });
  });

  it.each([
    ["neither", {}],
    ["both", { patient_id: 1, all: true }],
    ["only all: false", { all: false }],
    ["nulls", { patient_id: null, all: null }],
  ])("with %s of patient_id and all is refused: 422", async (_what, sent) => {
    const { status, body } = await cache("invalidate", clinic.admin, sent);
    expect([status, body.detail]).toEqual([
      422,
      [
        {
          loc: ["body", "patient_id"],
          msg: "Value error, give either patient_id or all: true",
          type: "value_error",
        },
      ],
    ]);
  });

  it("are in the administrator's own audit log", async () => {
    await cache("cleanup", clinic.admin);
    const { rows } = await service.database.owner.query(
      "select distinct action from audit_entries where tenant_id = $1 and action like 'cache.%' order by 1",
      [clinic.id],
    );
    expect(rows.map(({ action }) => action)).toEqual(["cache.cleanup", "cache.invalidate", "cache.warmup"]);
  });
});

describe("stats", () => {
  it("have the fields and order that were decided, and are the tenant's own", async () => {
    const foreign = await create(other);
    for (let i = 0; i < 2; i++) await read(foreign.id, other.doctor);
    const mine = await stats(clinic.admin);
    expect(Object.keys(mine)).toEqual([
      "entries",
      "expired",
      "bytes",
      "hits",
      "misses",
      "hit_rate",
      "evictions",
      "nodes",
    ]);
    expect(mine.hit_rate).toBeCloseTo(mine.hits / (mine.hits + mine.misses), 3);
    expect(mine.nodes).toBe(1);
    const all = await stats(superadmin);
    expect(all.hits).toBeGreaterThan(mine.hits);
    const fresh = await freshClinic();
    expect(await stats(fresh.admin)).toMatchObject({ entries: 0, bytes: 0, hits: 0, misses: 0, hit_rate: 0 });
  });

  it("and all the rest are administrators' only: 401, 403", async () => {
    for (const [method, path] of [
      ["GET", "/api/admin/cache/stats"],
      ["POST", "/api/admin/cache/cleanup"],
      ["POST", "/api/admin/cache/invalidate"],
      ["POST", "/api/admin/cache/warmup"],
    ] as const) {
      expect((await service.call(method, path)).status).toBe(401);
      expect((await service.call(method, path, { token: clinic.doctor })).status).toBe(403);
    }
  });
});

it("two hundred readings at once are two hundred entries in an unbroken chain", async () => {
  const patient = await create();
  const answers = await Promise.all(Array.from({ length: 200 }, () => read(patient.id)));
  expect(answers.every(({ status, body }) => status === 200 && body.id === patient.id)).toBe(true);
  const { rows } = await service.database.owner.query(
    "select from audit_entries where tenant_id = $1 and action = 'patient.read' and target_id = $2",
    [clinic.id, String(patient.id)],
  );
  expect(rows).toHaveLength(200);
  const { body } = await service.call("GET", `/api/admin/audit/verify?tenant_id=${clinic.id}`, {
    token: superadmin,
  });
  expect(body).toMatchObject({ ok: true, first_bad_seq: null });
});

// Patients and their records over HTTP, grouped by what is answered.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { traceOf } from "../support/journal.ts";
import { type Answer, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let other: Awaited<ReturnType<typeof makeClinic>>;
/** Sees all patients of the clinic, and of the other one. */
let chief: string;
let stranger: string;
let ward: { id: number };
let surgery: { id: number };

beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  clinic = await makeClinic(service, superadmin);
  other = await makeClinic(service, superadmin);
  ward = await makeDepartment(service, clinic.token);
  surgery = await makeDepartment(service, clinic.token);
  chief = await tokenOf(clinic, { role: "head_doctor", can_see_all_patients: true });
  stranger = await tokenOf(other, { role: "admin", can_see_all_patients: true });
});
afterAll(() => service.stop());

async function tokenOf(at: typeof clinic, facts: Record<string, unknown>): Promise<string> {
  const { email } = await makeUser(service, at.token, facts);
  return service.signInAs(email, at.subdomain);
}

const create = (body: unknown, token = chief): Promise<Answer> =>
  service.call("POST", "/api/patients", { token, body });
const get = (id: number | string, token = chief): Promise<Answer> =>
  service.call("GET", `/api/patients/${id}`, { token });
const put = (id: number | string, body: unknown, token = chief): Promise<Answer> =>
  service.call("PUT", `/api/patients/${id}`, { token, body });
const remove = (id: number | string, token = chief): Promise<Answer> =>
  service.call("DELETE", `/api/patients/${id}`, { token });
const list = (query = "", token = chief): Promise<Answer> =>
  service.call("GET", `/api/patients?${query}`, { token });
const write = (id: number | string, body: unknown, token = chief): Promise<Answer> =>
  service.call("POST", `/api/patients/${id}/records`, { token, body });
const read = (id: number | string, query = "", token = chief): Promise<Answer> =>
  service.call("GET", `/api/patients/${id}/records?${query}`, { token });

const texts = {
  full_name: "Ada Lovelace",
  birth_date: "1815-12-10",
  phone: "+44 20 7946 0001",
  notes: "Fond of engines.",
};
async function made(more: Record<string, unknown> = {}, token = chief) {
  const answer = await create({ record_number: unique("R-"), full_name: "Some Body", ...more }, token);
  expect([answer.status, answer.body.code]).toEqual([201, undefined]);
  return answer.body;
}
const sql = (text: string, values: unknown[]) => service.database.owner.query(text, values);
const ids = (answer: Answer): number[] => answer.body.items.map(({ id }: { id: number }) => id);

describe("201", () => {
  it("creates a patient, with one entry and one event that hold no text", async () => {
    const record_number = unique("R-");
    let patient: Record<string, unknown> = {};
    await made();
    const { entries, events } = await traceOf(service, async () => {
      patient = await made({ record_number, ...texts, department_id: ward.id });
    });
    expect(Object.keys(patient)).toEqual([
      "id",
      "tenant_id",
      "department_id",
      "record_number",
      "full_name",
      "birth_date",
      "phone",
      "notes",
      "version",
      "created_at",
      "updated_at",
    ]);
    expect(patient).toMatchObject({
      ...texts,
      record_number,
      tenant_id: clinic.id,
      department_id: ward.id,
      version: 1,
    });
    expect(entries).toMatchObject([
      { action: "patient.create", target_id: String(patient["id"]), changes: { department_id: ward.id } },
    ]);
    expect(events).toMatchObject([
      { kind: "patient.created", payload: { patient_id: patient["id"], department_id: ward.id } },
    ]);
    expect(JSON.stringify([entries, events])).not.toMatch(/Lovelace|1815|7946|engines/);
    expect((await get(String(patient["id"]))).body).toEqual(patient);
  });

  it("the least there must be, the rest is null; unknown fields are ignored", async () => {
    const patient = await made({
      tenant_id: clinic.id,
      version: 7,
      id: 1,
      deleted_at: "now",
      constructor: 1,
    });
    expect(patient).toMatchObject({
      department_id: null,
      birth_date: null,
      phone: null,
      notes: null,
      version: 1,
    });
  });

  it("in the caller's department unless a see-all names another", async () => {
    const nurse = await tokenOf(clinic, { department_id: ward.id });
    expect((await made({}, nurse)).department_id).toBe(ward.id);
    expect((await made({ department_id: ward.id }, nurse)).department_id).toBe(ward.id);
    const seeing = await tokenOf(clinic, { department_id: ward.id, can_see_all_patients: true });
    expect((await made({}, seeing)).department_id).toBe(ward.id);
    expect((await made({ department_id: null }, seeing)).department_id).toBeNull();
    expect((await made({ department_id: surgery.id }, seeing)).department_id).toBe(surgery.id);
  });

  it("writes a record in the caller's name", async () => {
    const { id } = await made();
    const { entries, events } = await traceOf(service, async () => {
      const answer = await write(id, { kind: " visit ", body: "Felt better." });
      expect(answer.status).toBe(201);
      expect(Object.keys(answer.body)).toEqual([
        "id",
        "patient_id",
        "author_id",
        "kind",
        "body",
        "created_at",
      ]);
      expect(answer.body).toMatchObject({ patient_id: id, kind: "visit", body: "Felt better." });
    });
    expect(entries).toMatchObject([
      { action: "record.create", target_type: "record", changes: { patient_id: id } },
    ]);
    expect(events).toMatchObject([{ kind: "record.created", payload: { patient_id: id } }]);
    expect(JSON.stringify([entries, events])).not.toMatch(/better/);
  });

  it.each([
    ["a name of 200 astral characters", { full_name: "𝒜".repeat(200) }],
    ["an accent in two code points, which becomes one", { full_name: "Zoe\u0308" }],
    [
      "quotes, markup and SQL",
      { full_name: "Robert'); drop table patients; --<script>", notes: "${a} {{b}} \\u0000" },
    ],
    ["a leap day", { birth_date: "2024-02-29" }],
    ["the longest notes", { notes: "ü".repeat(10_000) }],
  ])("keeps %s as it is", async (_what, sent: Record<string, string>) => {
    const { id } = await made(sent);
    const normal = Object.fromEntries(
      Object.entries(sent).map(([name, text]) => [name, text.normalize("NFC")]),
    );
    expect((await get(id)).body).toMatchObject(normal);
  });
});

describe("200", () => {
  it("changes what is sent and leaves the rest", async () => {
    const patient = await made({ ...texts });
    const { entries, events } = await traceOf(service, async () => {
      const answer = await put(patient.id, { version: 1, full_name: "Ada King", phone: null });
      expect(answer).toMatchObject({
        status: 200,
        body: { full_name: "Ada King", phone: null, notes: texts.notes, version: 2 },
      });
    });
    const fields = ["full_name", "phone"];
    expect(entries).toMatchObject([{ action: "patient.update", changes: { fields, version: 2 } }]);
    expect(events).toMatchObject([
      { kind: "patient.updated", payload: { patient_id: patient.id, fields, version: 2 } },
    ]);
    expect((await get(patient.id)).body).toMatchObject({ full_name: "Ada King", phone: null, version: 2 });
  });

  it("a change that changes nothing is a reading: an entry, but no version and no event", async () => {
    const patient = await made({ ...texts, department_id: ward.id });
    for (const body of [{}, texts, { department_id: ward.id, record_number: patient.record_number }]) {
      const trace = await traceOf(service, async () => {
        expect((await put(patient.id, { version: 1, ...body })).body).toEqual(patient);
      });
      const target = { target_type: "patient", target_id: String(patient.id) };
      expect(trace.events).toEqual([]);
      expect(trace.entries).toMatchObject([{ action: "patient.read", outcome: "ok", ...target }]);
    }
  });

  it("of 20 changes to one version at once exactly one wins, whether alike or not", async () => {
    for (const nameOf of [(i: number) => `Name ${i}`, () => "The Same"]) {
      const patient = await made();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => put(patient.id, { version: 1, full_name: nameOf(i) })),
      );
      const won = answers.filter(({ status }) => status === 200);
      const lost = answers.filter(({ status, body }) => status === 409 && body.code === "stale_version");
      expect([won.length, lost.length]).toEqual([1, 19]);
      expect((await get(patient.id)).body).toEqual(won[0]?.body);
    }
  });

  it("every read is in the audit log: who, whom, how many; no text", async () => {
    const patient = await made({ ...texts });
    await write(patient.id, { kind: "visit", body: "Felt better." });
    const { entries, events } = await traceOf(service, async () => {
      await get(patient.id);
      await list(`search=${encodeURIComponent(texts.full_name)}`);
      await list("limit=1&search=");
      await read(patient.id);
    });
    expect(entries.map(({ action, target_id, changes }) => [action, target_id, changes])).toEqual([
      ["patient.read", String(patient.id), {}],
      ["patient.list", null, { count: expect.any(Number), searched: true }],
      ["patient.list", null, { count: 1, searched: false }],
      ["record.list", String(patient.id), { count: 1 }],
    ]);
    for (const entry of entries) expect([entry.tenant_id, entry.outcome]).toEqual([clinic.id, "ok"]);
    expect(events).toEqual([]);
    expect(JSON.stringify(entries)).not.toMatch(/Lovelace|better/);
  });

  it("lists records from the first on, by page, and only the patient's", async () => {
    const [one, two] = [await made(), await made()];
    for (const body of ["a", "b", "c"]) await write(one.id, { kind: "visit", body });
    await write(two.id, { kind: "visit", body: "d" });
    const bodies = (answer: Answer) => answer.body.items.map(({ body }: { body: string }) => body);
    expect(bodies(await read(one.id))).toEqual(["a", "b", "c"]);
    expect(bodies(await read(one.id, "sort_by=created_at&sort_order=desc"))).toEqual(["c", "b", "a"]);
    const page = await read(one.id, "limit=2&page=2");
    expect([bodies(page), page.body]).toMatchObject([["c"], { total: 3, page: 2, limit: 2, pages: 2 }]);
    expect((await read((await made()).id)).body).toEqual({
      items: [],
      total: 0,
      page: 1,
      limit: 50,
      pages: 0,
    });
  });
});

describe("the list", () => {
  let own: typeof clinic;
  let seer: string;
  const numbers = ["B-2", "a-10", "A-1", "a-100", "Ä-1", "50%_\\x"];
  beforeAll(async () => {
    own = await makeClinic(service, superadmin);
    seer = await tokenOf(own, { can_see_all_patients: true });
    for (const [i, record_number] of numbers.entries()) {
      const phone = i === 0 ? "030 / 123 45" : null;
      await made({ record_number, full_name: i < 2 ? "Zoë  Åberg" : `Body ${i}`, phone }, seer);
    }
  });
  const numbersOf = async (query: string) =>
    (await list(query, seer)).body.items.map((item: { record_number: string }) => item.record_number);

  it("sorts by id, record number and time, both ways", async () => {
    expect(await numbersOf("")).toEqual(numbers);
    expect(await numbersOf("sort_order=desc")).toEqual([...numbers].reverse());
    expect(await numbersOf("sort_by=record_number")).toEqual([
      "50%_\\x",
      "A-1",
      "a-10",
      "a-100",
      "B-2",
      "Ä-1",
    ]);
    expect(await numbersOf("sort_by=created_at&limit=2&page=2")).toEqual(["A-1", "a-100"]);
  });

  it("counts exactly and ends where it ends", async () => {
    const { body } = await list("limit=4&page=2", seer);
    expect(body).toMatchObject({ total: 6, page: 2, limit: 4, pages: 2 });
    expect((await list("limit=4&page=9", seer)).body).toMatchObject({ items: [], total: 6, pages: 2 });
  });

  it.each([
    ["the beginning of a record number", "a-1", ["a-10", "A-1", "a-100"]],
    ["in any case", "A-10", ["a-10", "a-100"]],
    ["umlauts too", "ä", ["Ä-1"]],
    ["the signs of LIKE mean themselves", "50%_\\", ["50%_\\x"]],
    ["no wildcard", "%", []],
    ["not the middle of a record number", "10", []],
    ["a whole name, in any case and spacing", " zoë ÅBERG ", ["B-2", "a-10"]],
    ["a name in other code points", "Zoe\u0308 A\u030aberg", ["B-2", "a-10"]],
    ["not a part of a name", "Zoë", []],
    ["a whole phone number, however written", "(030) 12345", ["B-2"]],
    ["not a part of one", "030", []],
    ["no phone number by the digits of other texts", "X-03012345", []],
    ["nothing by SQL", "' or 1=1 --", []],
    ["everything by nothing", "  ", numbers],
  ])("finds %s", async (_what, search, found) => {
    const answer = await list(`search=${encodeURIComponent(search)}`, seer);
    expect(answer.body.items.map((item: { record_number: string }) => item.record_number)).toEqual(found);
    expect(answer.body.total).toBe(found.length);
  });

  it("what was changed is found by what it is now", async () => {
    const patient = await made({ full_name: "Before Change", phone: "111 222" });
    await put(patient.id, { version: 1, full_name: "After Change", phone: "333 444" });
    const found = async (search: string) => ids(await list(`search=${encodeURIComponent(search)}`));
    expect(await found("Before Change")).toEqual([]);
    expect(await found("111222")).toEqual([]);
    expect(await found("after change")).toEqual([patient.id]);
    expect(await found("333444")).toEqual([patient.id]);
    await put(patient.id, { version: 2, phone: null });
    expect(await found("333444")).toEqual([]);
  });

  it.each([
    ["sort_by=full_name", "sort_by"],
    ["sort_order=up", "sort_order"],
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["page=100001&limit=1", undefined],
    ["page=100002&limit=1", "page"],
    [`search=${"x".repeat(201)}`, "search"],
    ["search=%00", "search"],
  ])("%s", async (query, field) => {
    const answer = await list(query);
    expect(answer.status).toBe(field === undefined ? 200 : 422);
    if (field !== undefined) expect(answer.body.detail).toMatchObject([{ loc: ["query", field] }]);
  });
});

describe("204", () => {
  it("deletes: gone at once, the record number free, one entry and one event", async () => {
    const patient = await made({ ...texts });
    await write(patient.id, { kind: "visit", body: "x" });
    const { entries, events } = await traceOf(service, async () => {
      const answer = await remove(patient.id);
      expect([answer.status, answer.body]).toEqual([204, ""]);
    });
    expect(entries).toMatchObject([{ action: "patient.delete", target_id: String(patient.id), changes: {} }]);
    expect(events).toMatchObject([{ kind: "patient.deleted", payload: { patient_id: patient.id } }]);
    for (const answer of [
      await get(patient.id),
      await put(patient.id, { version: 2 }),
      await remove(patient.id),
      await read(patient.id),
      await write(patient.id, { kind: "x", body: "x" }),
    ]) {
      expect(answer.status).toBe(404);
    }
    expect(ids(await list(`search=${patient.record_number}`))).toEqual([]);
    expect((await made({ record_number: patient.record_number })).id).not.toBe(patient.id);
  });
});

describe("who sees whom", () => {
  const roles = ["admin", "head_doctor", "doctor", "nurse", "registrar"] as const;
  /** Where the viewer is, whether they see all, and then whether they see a patient of [ward, surgery, no department]. */
  const table = [
    ["the ward", false, [true, false, false]],
    ["surgery", false, [false, true, false]],
    ["no department", false, [false, false, false]],
    ["the ward", true, [true, true, true]],
    ["no department", true, [true, true, true]],
  ] as const;
  let patients: number[];
  let foreign: number;
  beforeAll(async () => {
    const places = [ward.id, surgery.id, null];
    patients = await Promise.all(places.map(async (department_id) => (await made({ department_id })).id));
    foreign = (await made({}, stranger)).id;
  });

  it.each(roles.flatMap((role) => table.map((row) => [role, ...row] as const)))(
    "a %s in %s, seeing all: %s",
    async (role, place, can_see_all_patients, sees) => {
      const department_id = place === "the ward" ? ward.id : place === "surgery" ? surgery.id : null;
      const token = await tokenOf(clinic, { role, department_id, can_see_all_patients });
      for (const [i, id] of patients.entries()) {
        const expected = sees[i] === true ? 200 : 404;
        expect((await get(id, token)).status).toBe(expected);
        expect((await read(id, "", token)).status).toBe(expected);
        expect((await write(id, { kind: "x", body: "x" }, token)).status).toBe(expected === 200 ? 201 : 404);
        expect((await put(id, { version: 1 }, token)).status).toBe(expected);
      }
      expect((await get(foreign, token)).status).toBe(404);
      const listed = ids(await list("limit=200&sort_order=desc", token));
      expect(patients.map((id) => listed.includes(id))).toEqual(sees);
      expect(listed).not.toContain(foreign);
    },
  );

  it("a superadmin sees the platform's own patients and no clinic's", async () => {
    for (const id of [...patients, foreign]) {
      expect((await get(id, superadmin)).status).toBe(404);
      expect((await remove(id, superadmin)).status).toBe(404);
    }
    expect(ids(await list("limit=200", superadmin))).toEqual([]);
    const { id } = await made({}, superadmin);
    expect((await get(id, superadmin)).status).toBe(200);
    expect((await get(id)).status).toBe(404);
  });

  it("a search finds nobody whom the caller does not see", async () => {
    const name = `Only ${unique("Here")}`;
    const { record_number } = await made({ full_name: name, phone: "99887766", department_id: surgery.id });
    const nurse = await tokenOf(clinic, { department_id: ward.id });
    for (const search of [name, record_number, "99887766"]) {
      const query = `search=${encodeURIComponent(search)}`;
      expect((await list(query)).body.total).toBe(1);
      expect((await list(query, nurse)).body).toMatchObject({ items: [], total: 0 });
      expect((await list(query, stranger)).body).toMatchObject({ items: [], total: 0 });
    }
  });
});

describe("403", () => {
  it("another department, known or not, or none, is not for who does not see all", async () => {
    const nurse = await tokenOf(clinic, { department_id: ward.id });
    const { id } = await made({}, nurse);
    const body = { record_number: unique("R-"), full_name: "x" };
    const answers = await Promise.all(
      [surgery.id, 2_000_000_000, null].flatMap((department_id) => [
        create({ ...body, department_id }, nurse),
        put(id, { version: 1, department_id }, nurse),
      ]),
    );
    expect(new Set(answers.map(({ status, body: told }) => JSON.stringify([status, told])))).toEqual(
      new Set([
        JSON.stringify([403, { detail: "This department is not yours", code: "foreign_department" }]),
      ]),
    );
  });

  it("who is in no department and does not see all has nowhere to put a patient", async () => {
    const registrar = await tokenOf(clinic, { role: "registrar" });
    const { entries } = await traceOf(service, async () => {
      const answer = await create({ record_number: unique("R-"), full_name: "x" }, registrar);
      expect(answer).toMatchObject({ status: 403, body: { code: "no_department" } });
    });
    expect(entries).toMatchObject([{ action: "patient.create", outcome: "denied" }]);
  });
});

describe("401", () => {
  it("without a token", async () => {
    for (const [method, path] of [
      ["GET", "/api/patients"],
      ["POST", "/api/patients"],
      ["GET", "/api/patients/1"],
      ["PUT", "/api/patients/x"],
      ["DELETE", "/api/patients/1"],
      ["GET", "/api/patients/1/records"],
      ["POST", "/api/patients/1/records"],
    ] as const) {
      expect((await service.call(method, path, method === "POST" ? { body: {} } : {})).status).toBe(401);
    }
  });
});

describe("404", () => {
  it("foreign, unseen, unknown, deleted and impossible patients are the same bytes", async () => {
    const nurse = await tokenOf(clinic, { department_id: ward.id });
    const foreign = await made({}, stranger);
    const unseen = await made({ department_id: surgery.id });
    const deleted = await made({ department_id: ward.id });
    await remove(deleted.id);
    const all = [foreign.id, unseen.id, deleted.id, 2_000_000_000, 0, -1, "99999999999"];
    for (const ask of [
      (id: number | string) => get(id, nurse),
      (id: number | string) => put(id, { version: 1, full_name: "x" }, nurse),
      (id: number | string) => remove(id, nurse),
      (id: number | string) => read(id, "", nurse),
      (id: number | string) => write(id, { kind: "x", body: "x" }, nurse),
    ]) {
      const answers = await Promise.all(all.map(ask));
      expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body])))).toEqual(
        new Set([JSON.stringify([404, { detail: "Patient not found", code: "not_found" }])]),
      );
    }
    expect((await get(unseen.id)).body.version).toBe(1);
  });
});

describe("409", () => {
  it("a stale version, and nothing is changed or told", async () => {
    const patient = await made();
    await put(patient.id, { version: 1, notes: "second" });
    const trace = await traceOf(service, async () => {
      for (const version of [1, 3, 2_147_483_647]) {
        const answer = await put(patient.id, { version, notes: "third" });
        expect(answer).toMatchObject({ status: 409, body: { code: "stale_version" } });
      }
    });
    expect(trace).toEqual({ entries: [], events: [] });
    expect((await get(patient.id)).body).toMatchObject({ notes: "second", version: 2 });
  });

  it("a record number that is taken in the same department, in any case; another tenant's is not in the way", async () => {
    const { record_number } = await made({ record_number: unique("Num-") });
    for (const taken of [record_number, record_number.toUpperCase()]) {
      expect(await create({ record_number: taken, full_name: "x" })).toMatchObject({
        status: 409,
        body: { code: "record_number_taken" },
      });
    }
    const second = await made();
    expect((await put(second.id, { version: 1, record_number })).body.code).toBe("record_number_taken");
    await made({ record_number }, stranger);
  });

  it("a record number of a department that the caller may not see is answered like a free one", async () => {
    const nurse = await tokenOf(clinic, { department_id: ward.id });
    const { record_number } = await made({ record_number: unique("Hidden-"), department_id: surgery.id });
    await made({ record_number: `${record_number}-none`, department_id: null });
    const free = await create({ record_number: unique("Free-"), full_name: "x" }, nurse);
    const plain = ({ status, body }: Answer) => ({ status, fields: Object.keys(body) });
    for (const taken of [record_number.toUpperCase(), `${record_number}-none`]) {
      const answer = await create({ record_number: taken, full_name: "x" }, nurse);
      expect(plain(answer)).toEqual(plain(free));
      // So is giving it to a patient that is there already.
      await remove(answer.body.id, nurse);
      const own = await made({}, nurse);
      expect((await put(own.id, { version: 1, record_number: taken }, nurse)).status).toBe(200);
      // In the own department it is taken now, which the caller can see.
      expect((await create({ record_number: taken, full_name: "x" }, nurse)).status).toBe(409);
    }
    expect(ids(await list(`search=${record_number}`))).toHaveLength(4);
    expect(ids(await list(`search=${record_number}`, nurse))).toHaveLength(2);
  });

  it("a move into a department, or out of all, that has the record number already", async () => {
    const { record_number } = await made({ record_number: unique("Moved-"), department_id: surgery.id });
    const second = await made({ record_number, department_id: ward.id });
    await made({ record_number, department_id: null });
    for (const department_id of [surgery.id, null]) {
      expect(await put(second.id, { version: 1, department_id })).toMatchObject({
        status: 409,
        body: { code: "record_number_taken" },
      });
    }
    const fresh = { version: 1, department_id: surgery.id, record_number: unique("Moved-") };
    expect((await put(second.id, fresh)).status).toBe(200);
  });

  it("of 20 patients with one record number one is created", async () => {
    const body = { record_number: unique("Twin-"), full_name: "x" };
    const statuses = (await Promise.all(Array.from({ length: 20 }, () => create(body)))).map(
      ({ status }) => status,
    );
    expect(statuses.sort()).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });

  it("a department with patients stays, and says how many; with deleted ones it goes", async () => {
    const wing = await makeDepartment(service, clinic.token);
    const [one, two] = [await made({ department_id: wing.id }), await made({ department_id: wing.id })];
    const drop = () => service.call("DELETE", `/api/admin/departments/${wing.id}`, { token: clinic.token });
    const refused = await drop();
    expect(refused).toMatchObject({ status: 409, body: { code: "department_in_use" } });
    expect(refused.body.detail).toMatch(/\b0 users\b.*\b2 patients\b/);
    await remove(one.id);
    expect((await drop()).body.detail).toMatch(/\b1 patient\b/);
    await put(two.id, { version: 1, department_id: ward.id });
    expect((await drop()).status).toBe(204);
  });
});

describe("422", () => {
  const fine = { record_number: "R", full_name: "x" };
  it.each(
    (
      [
        [{}, "record_number", "missing"],
        [{ ...fine, record_number: " " }, "record_number", "string_too_short"],
        [{ ...fine, record_number: "x".repeat(65) }, "record_number", "string_too_long"],
        [{ ...fine, record_number: 5 }, "record_number", "string_type"],
        [{ ...fine, full_name: "" }, "full_name", "string_too_short"],
        [{ ...fine, full_name: null }, "full_name", "string_type"],
        [{ ...fine, full_name: "x".repeat(201) }, "full_name", "string_too_long"],
        [{ ...fine, full_name: "a\u0000b" }, "full_name", "value_error"],
        [{ ...fine, full_name: "\ud800" }, "full_name", "value_error"],
        [{ ...fine, birth_date: "10.12.1815" }, "birth_date", "datetime_from_date_parsing"],
        [{ ...fine, birth_date: "2023-02-29" }, "birth_date", "datetime_from_date_parsing"],
        [{ ...fine, birth_date: "" }, "birth_date", "datetime_from_date_parsing"],
        [{ ...fine, birth_date: 20_001_231 }, "birth_date", "string_type"],
        [{ ...fine, birth_date: "2001-12-31T00:00:00Z" }, "birth_date", "value_error"],
        [{ ...fine, birth_date: "9999-12-31" }, "birth_date", "value_error"],
        [{ ...fine, birth_date: "1799-12-31" }, "birth_date", "value_error"],
        [{ ...fine, phone: "call me" }, "phone", "value_error"],
        [{ ...fine, phone: "12" }, "phone", "value_error"],
        [{ ...fine, phone: "1+23456" }, "phone", "value_error"],
        [{ ...fine, phone: "1".repeat(41) }, "phone", "string_too_long"],
        [{ ...fine, notes: "x".repeat(10_001) }, "notes", "string_too_long"],
        [{ ...fine, notes: { a: 1 } }, "notes", "string_type"],
        [{ ...fine, department_id: 0 }, "department_id", "greater_than_equal"],
        [{ ...fine, department_id: "x" }, "department_id", "int_parsing"],
      ] as const
    ).map(([body, field, type]) => [field, type, body] as const),
  )("%s: %s", async (field, type, body) => {
    const answer = await create(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContainEqual(expect.objectContaining({ loc: ["body", field], type }));
    expect(JSON.stringify(answer.body)).not.toMatch(/1815|call me|2023-02/);
  });

  it("a department that is unknown or another tenant's, alike, and nothing is made", async () => {
    const theirs = await makeDepartment(service, other.token);
    const patient = await made();
    const trace = await traceOf(service, async () => {
      const answers = await Promise.all(
        [theirs.id, 2_000_000_000].flatMap((department_id) => [
          create({ record_number: unique("R-"), full_name: "x", department_id }),
          put(patient.id, { version: 1, department_id }),
        ]),
      );
      expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
      expect(answers[0]).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ["body", "department_id"] }] },
      });
    });
    expect(trace).toEqual({ entries: [], events: [] });
  });

  it.each(
    (
      [
        [{}, "version", "missing"],
        [{ version: 0 }, "version", "greater_than_equal"],
        [{ version: null }, "version", "int_type"],
        [{ version: 1.5 }, "version", "int_from_float"],
        [{ version: 1, full_name: null }, "full_name", "string_type"],
        [{ version: 1, record_number: "" }, "record_number", "string_too_short"],
      ] as const
    ).map(([body, field, type]) => [field, type, body] as const),
  )("of a change, %s: %s", async (field, type, body) => {
    const { id } = await made();
    const answer = await put(id, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["body", field], type }]);
  });

  it.each(
    (
      [
        [{ body: "x" }, "kind", "missing"],
        [{ kind: "", body: "x" }, "kind", "string_too_short"],
        [{ kind: "x".repeat(51), body: "x" }, "kind", "string_too_long"],
        [{ kind: "x" }, "body", "missing"],
        [{ kind: "x", body: "" }, "body", "string_too_short"],
        [{ kind: "x", body: "x".repeat(10_001) }, "body", "string_too_long"],
      ] as const
    ).map(([body, field, type]) => [field, type, body] as const),
  )("of a record, %s: %s", async (field, type, body) => {
    const { id } = await made();
    const answer = await write(id, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["body", field], type }]);
  });
});

describe("what is sealed", () => {
  const bytesOf = async (id: number) =>
    (
      await sql(
        `select encode(identity, 'hex') as identity, encode(notes, 'hex') as notes,
           encode(full_name_index, 'hex') as full_name, encode(phone_index, 'hex') as phone from patients where id = $1`,
        [id],
      )
    ).rows[0];

  it.each([
    ["a phone number alone", { phone: "+49 30 1" }, ["identity", "phone"]],
    ["a phone number taken away", { phone: null }, ["identity", "phone"]],
    ["a birth date alone", { birth_date: null }, ["identity"]],
    ["a name alone", { full_name: "Ada King" }, ["identity", "full_name"]],
    ["notes alone", { notes: "Other." }, ["notes"]],
    ["notes taken away", { notes: null }, ["notes"]],
    ["notes beside what is there already", { ...texts, notes: "Other." }, ["notes"]],
    ["nothing that is sealed", { record_number: unique("N-") }, []],
  ])("%s: the rest keeps its texts, its bytes and its indexes", async (_what, sent, changed) => {
    const { id } = await made(texts);
    const before = await bytesOf(id);
    expect((await put(id, { version: 1, ...sent })).body).toMatchObject({ ...texts, ...sent, version: 2 });
    const after = await bytesOf(id);
    expect(Object.keys(after).filter((column) => after[column] !== before[column])).toEqual(changed);
    expect((await get(id)).body).toMatchObject({ ...texts, ...sent });
  });

  it("a patient without phone and birth date is stored like any other, but for the phone's index", async () => {
    const { notes: _notes, ...identity } = texts;
    const whole = await made(identity);
    // As long as the other's name, birth date and phone number are together.
    const bare = await made({ full_name: "x".repeat(34) });
    const shapeOf = async ({ id }: { id: number }) => {
      const { rows } = await sql(
        `select key, value = 'null' as empty, case when key = 'identity' then length(value) end as length
         from patients p, jsonb_each(to_jsonb(p)) t(key, json), lateral (select json::text as value) v where p.id = $1`,
        [id],
      );
      return rows;
    };
    const [one, other] = [await shapeOf(whole), await shapeOf(bare)];
    expect(one).toContainEqual({ key: "identity", empty: false, length: expect.any(Number) });
    expect(one).toContainEqual({ key: "phone_index", empty: false, length: null });
    expect(other).toEqual(one.map((row) => (row.key === "phone_index" ? { ...row, empty: true } : row)));
  });
});

describe("a sealed field that does not open", () => {
  const { notes: _notes, ...identity } = texts;
  const fieldsOf = { identity: ["full_name", "birth_date", "phone"], notes: ["notes"] };
  const nulls = { identity: { full_name: null, birth_date: null, phone: null }, notes: { notes: null } };
  const columns = ["identity", "notes"] as const;
  /** Sealed for one more row, and moved from there whole: of the same tenant, and so of the same key. */
  const movedFrom = (column: string, id: number) =>
    `update patients set ${column} = (select ${column} from patients where id = ${id}) where id = $1`;

  it.each(columns)(
    "is told of one patient as 503 and audited, and hides nothing else in a list: another patient's %s",
    async (column) => {
      const own = await makeClinic(service, superadmin);
      const seer = await tokenOf(own, { can_see_all_patients: true });
      const [broken, whole] = [await made(texts, seer), await made(texts, seer)];
      await sql(movedFrom(column, whole.id), [broken.id]);
      const { entries } = await traceOf(service, async () => {
        const answer = await get(broken.id, seer);
        expect(answer).toMatchObject({ status: 503, body: { code: "sealed_field_unreadable" } });
        expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
      });
      const changes = { code: "sealed_field_unreadable", fields: fieldsOf[column] };
      expect(entries).toMatchObject([{ action: "patient.read", outcome: "error", changes }]);
      const { items } = (await list("", seer)).body;
      expect(items).toEqual([{ ...broken, ...nulls[column], unreadable: fieldsOf[column] }, whole]);
    },
  );

  it("is named with all others of the row", async () => {
    const own = await makeClinic(service, superadmin);
    const seer = await tokenOf(own, { can_see_all_patients: true });
    const patient = await made(texts, seer);
    await sql("update patients set identity = notes, notes = identity where id = $1", [patient.id]);
    const { items } = (await list("", seer)).body;
    const unreadable = [...fieldsOf.identity, ...fieldsOf.notes];
    expect(items).toEqual([{ ...patient, ...nulls.identity, ...nulls.notes, unreadable }]);
    expect((await put(patient.id, { version: 1, ...identity }, seer)).status).toBe(503);
    expect((await put(patient.id, { version: 1, notes: "anew" }, seer)).status).toBe(503);
    expect((await put(patient.id, { version: 1, ...texts }, seer)).body).toMatchObject({
      ...texts,
      version: 2,
    });
  });

  it.each([
    ["of another column", (column: string) => `set ${column} = ${column === "notes" ? "identity" : "notes"}`],
    ["cut short", (column: string) => `set ${column} = substr(${column}, 1, length(${column}) - 1)`],
    ["cut to its head", (column: string) => `set ${column} = substr(${column}, 1, 20)`],
    [
      "with a bit changed",
      (column: string) => `set ${column} = set_bit(${column}, 160, 1 - get_bit(${column}, 160))`,
    ],
    [
      "of a key nobody has",
      (column: string) => `set ${column} = overlay(${column} placing '\\x00ffffff' from 2 for 4)`,
    ],
    ["no ciphertext at all", (column: string) => `set ${column} = '\\x'`],
  ])("%s is refused", async (_what, sets) => {
    for (const column of columns) {
      const { id } = await made(texts);
      await sql(`update patients ${sets(column)} where id = $1`, [id]);
      const { status, body } = await get(id);
      expect([column, status, body.code]).toEqual([column, 503, "sealed_field_unreadable"]);
    }
  });

  it("of another tenant is refused, also under the same number", async () => {
    const own = await makeClinic(service, superadmin);
    const seer = await tokenOf(own, { can_see_all_patients: true });
    await made(texts, seer);
    const theirs = await made(texts, stranger);
    const { rows } = await sql(
      `insert into patients (id, tenant_id, record_number, identity, notes, full_name_index)
       select id, $2, record_number, identity, notes, full_name_index from patients where id = $1 returning id`,
      [theirs.id, own.id],
    );
    expect(rows).toEqual([{ id: theirs.id }]);
    expect((await get(theirs.id, seer)).body.code).toBe("sealed_field_unreadable");
    const unreadable = [...fieldsOf.identity, ...fieldsOf.notes];
    const { items } = (await list("", seer)).body;
    expect(items[1]).toMatchObject({ id: theirs.id, ...nulls.identity, ...nulls.notes, unreadable });
    expect((await get(theirs.id, stranger)).body).toEqual(theirs);
  });

  it.each([
    ["notes", { notes: "anew" }, ["notes"]],
    ["notes", { notes: null }, ["notes"]],
    ["notes", { notes: "anew", phone: null }, ["phone", "notes"]],
    ["identity", identity, fieldsOf.identity],
    ["identity", { full_name: "Ada King", birth_date: null, phone: null }, fieldsOf.identity],
    ["identity", { ...identity, notes: "anew" }, [...fieldsOf.identity, "notes"]],
  ] as const)("%s is mended by sending it anew: %j", async (column, sent, fields) => {
    const [broken, other] = [await made(texts), await made(texts)];
    await sql(movedFrom(column, other.id), [broken.id]);
    const { entries } = await traceOf(service, async () => {
      const answer = await put(broken.id, { version: 1, ...sent });
      expect(answer).toMatchObject({ status: 200, body: { ...texts, ...sent, version: 2 } });
    });
    expect(entries).toMatchObject([{ action: "patient.update", changes: { fields, version: 2 } }]);
    expect((await get(broken.id)).body).toMatchObject({ ...texts, ...sent });
    const found = async (search: string) => ids(await list(`search=${encodeURIComponent(search)}&limit=200`));
    if ("full_name" in sent) expect(await found(sent.full_name)).toContain(broken.id);
    if ("phone" in sent && sent.phone === null) expect(await found(texts.phone)).not.toContain(broken.id);
  });

  const lacking = fieldsOf.identity.map((left) =>
    Object.fromEntries(Object.entries(texts).filter(([field]) => field !== left)),
  );
  it.each([
    ...[{ phone: null }, { department_id: null }, identity].map((sent) => ["notes", sent] as const),
    ...[{ notes: "anew" }, { full_name: "Ada" }, ...lacking].map((sent) => ["identity", sent] as const),
  ])("%s is not mended by %j, and nothing is changed", async (column, sent) => {
    const [broken, other] = [await made(texts), await made(texts)];
    await sql(movedFrom(column, other.id), [broken.id]);
    const before = (await sql("select * from patients where id = $1", [broken.id])).rows;
    expect(await put(broken.id, { version: 1, ...sent })).toMatchObject({
      status: 503,
      body: { code: "sealed_field_unreadable" },
    });
    expect((await sql("select * from patients where id = $1", [broken.id])).rows).toEqual(before);
  });

  it("an older identity that is put back is the older one whole: no field of it stands beside newer ones", async () => {
    const { id } = await made(texts);
    const { rows } = await sql("select identity from patients where id = $1", [id]);
    await put(id, { version: 1, full_name: "Ada King", phone: "+49 30 2" });
    await sql("update patients set identity = $2, stamp = gen_random_uuid() where id = $1", [
      id,
      rows[0].identity,
    ]);
    expect((await get(id)).body).toMatchObject(identity);
  });

  it("in a record is null and named, the others are there", async () => {
    const { id } = await made();
    const [one, two] = [
      await write(id, { kind: "x", body: "first" }),
      await write(id, { kind: "x", body: "second" }),
    ];
    await sql(
      "update patient_records set body = (select body from patient_records where id = $2) where id = $1",
      [one.body.id, two.body.id],
    );
    const { items } = (await read(id)).body;
    expect(items).toEqual([{ ...one.body, body: null, unreadable: ["body"] }, two.body]);
  });
});

describe("the end", () => {
  it("deleted patients are purged after the retention, with their records; younger ones and live ones stay", async () => {
    const [old, young, live] = [await made(), await made(), await made()];
    for (const { id } of [old, young, live]) await write(id, { kind: "x", body: "x" });
    for (const { id } of [old, young]) await remove(id);
    const { owner } = service.database;
    await owner.query("update patients set deleted_at = now() - interval '31 days' where id = $1", [old.id]);
    await owner.query("select graphile_worker.add_job('patients.purge')");
    const left = async (table: string, column: string) =>
      (
        await owner.query(
          `select distinct ${column} as id from ${table} where ${column} = any($1) order by 1`,
          [[old.id, young.id, live.id]],
        )
      ).rows.map(({ id }) => id);
    await eventually(async () => !(await left("patients", "id")).includes(old.id));
    expect(await left("patients", "id")).toEqual([young.id, live.id]);
    expect(await left("patient_records", "patient_id")).toEqual([young.id, live.id]);
    const { rows } = await owner.query("select target_id from audit_entries where action = 'patient.purge'");
    expect(rows).toEqual([{ target_id: String(old.id) }]);
  });

  it("a tenant that is purged takes its patients, records and keys with it", async () => {
    const gone = await makeClinic(service, superadmin);
    const seer = await tokenOf(gone, { can_see_all_patients: true });
    const { id } = await made({}, seer);
    await write(id, { kind: "x", body: "x" }, seer);
    await service.database.owner.query("delete from tenants where id = $1", [gone.id]);
    for (const table of ["patients", "patient_records", "data_keys"]) {
      const { rows } = await service.database.owner.query(
        `select count(*)::integer as rows from ${table} where tenant_id = $1`,
        [gone.id],
      );
      expect([table, rows[0].rows]).toEqual([table, 0]);
    }
  });
});

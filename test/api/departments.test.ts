// Section 4.6: departments and their head doctors.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { withHolder } from "../support/holder.ts";
import { traceOf } from "../support/journal.ts";
import { repeatsOf } from "../support/repeats.ts";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser, type Made } from "../support/tenancy.ts";

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

const path = (id: number | string) => `/api/admin/departments/${id}`;
const create = (body: unknown, token = clinic.token): Promise<Answer> =>
  service.call("POST", "/api/admin/departments", { token, body });
const put = (id: number | string, body: unknown, token = clinic.token): Promise<Answer> =>
  service.call("PUT", path(id), { token, body });
const remove = (id: number | string, token = clinic.token): Promise<Answer> =>
  service.call("DELETE", path(id), { token });
const list = (query = "", token = clinic.token): Promise<Answer> =>
  service.call("GET", `/api/admin/departments?${query}`, { token });
const userOf = (role: string, more = {}): Promise<Made> => makeUser(service, clinic.token, { role, ...more });
const headOf = async (id: number): Promise<number | null> =>
  (await list("limit=200")).body.items.find((item: { id: number }) => item.id === id)?.head_doctor_id;

describe("201", () => {
  it("answers the department, fields in the interface's order", async () => {
    const head = await userOf("head_doctor");
    const { status, body } = await create({ name: " Kardiologie ", head_doctor_id: head.id });
    expect(status).toBe(201);
    expect(Object.keys(body)).toEqual(["id", "tenant_id", "name", "head_doctor_id", "created_at"]);
    expect(body).toMatchObject({ tenant_id: clinic.id, name: "Kardiologie", head_doctor_id: head.id });
  });

  it.each([{}, { head_doctor_id: null }, { tenant_id: null }])("%j leaves the rest open", async (more) => {
    const { status, body } = await create({ name: "Ward", ...more });
    expect([status, body.head_doctor_id, body.tenant_id]).toEqual([201, null, clinic.id]);
  });

  it("a superadmin makes one for any tenant, or for the platform itself", async () => {
    expect((await create({ name: "Ward", tenant_id: other.id }, superadmin)).body.tenant_id).toBe(other.id);
    const own = await create({ name: "Ward" }, superadmin);
    expect([clinic.id, other.id]).not.toContain(own.body.tenant_id);
  });

  it("leaves one entry and one event", async () => {
    const { entries, events } = await traceOf(service, () => create({ name: "Ward" }));
    expect(entries).toMatchObject([
      { action: "department.create", outcome: "ok", user_id: clinic.admin.id, target_type: "department" },
    ]);
    const id = Number(entries[0]?.target_id);
    expect(events).toMatchObject([{ kind: "department.created", payload: { department_id: id } }]);
  });
});

describe("200", () => {
  it("PUT takes what is sent and leaves the rest; null takes the head away", async () => {
    const head = await userOf("doctor");
    const { id } = await makeDepartment(service, clinic.token, { head_doctor_id: head.id });
    const renamed = await put(id, { name: "Renamed", tenant_id: other.id });
    expect(renamed.body).toMatchObject({
      id,
      name: "Renamed",
      head_doctor_id: head.id,
      tenant_id: clinic.id,
    });
    expect((await put(id, { head_doctor_id: null })).body).toMatchObject({
      name: "Renamed",
      head_doctor_id: null,
    });
  });

  it("leaves one entry and one event; nothing changed leaves none", async () => {
    const { id, name } = await makeDepartment(service, clinic.token);
    const changed = await traceOf(service, () => put(id, { name: "Another" }));
    expect(changed.entries).toMatchObject([{ action: "department.update", changes: { name: "Another" } }]);
    expect(changed.events).toMatchObject([
      { kind: "department.updated", payload: { department_id: id, fields: ["name"] } },
    ]);
    await put(id, { name });
    for (const body of [{}, { name }, { head_doctor_id: null }, { nonsense: 1 }]) {
      expect(await traceOf(service, () => put(id, body))).toEqual({ entries: [], events: [] });
    }
  });

  it("a head who loses the role, is blocked or deleted is no head any more, or was never one", async () => {
    const demoted = await userOf("doctor");
    const deleted = await userOf("head_doctor");
    const one = await makeDepartment(service, clinic.token, { head_doctor_id: demoted.id });
    const two = await makeDepartment(service, clinic.token, { head_doctor_id: deleted.id });
    const role = { token: clinic.token, body: { role: "nurse" } };
    await service.call("PUT", `/api/admin/users/${demoted.id}/role`, role);
    await service.call("DELETE", `/api/admin/users/${deleted.id}`, { token: clinic.token });
    expect([await headOf(one.id), await headOf(two.id)]).toEqual([null, null]);
  });
});

describe("204", () => {
  it("removes an empty department, with one entry and one event", async () => {
    const { id, name } = await makeDepartment(service, clinic.token);
    const { entries, events } = await traceOf(service, async () => {
      const answer = await remove(id);
      expect([answer.status, answer.body]).toEqual([204, ""]);
    });
    expect(entries).toMatchObject([
      { action: "department.delete", target_id: String(id), changes: { name } },
    ]);
    expect(events).toMatchObject([{ kind: "department.deleted", payload: { department_id: id } }]);
    expect((await remove(id)).status).toBe(404);
    expect((await put(id, { name: "x" })).status).toBe(404);
  });

  it("one whose users were all deleted counts as empty", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const user = await userOf("nurse", { department_id: ward.id });
    expect((await remove(ward.id)).status).toBe(409);
    await service.call("DELETE", `/api/admin/users/${user.id}`, { token: clinic.token });
    expect((await remove(ward.id)).status).toBe(204);
  });
});

describe("403", () => {
  it("another tenant's id in the body or the query", async () => {
    const { entries, events } = await traceOf(service, async () => {
      expect(await create({ name: "x", tenant_id: other.id })).toMatchObject({
        status: 403,
        body: { code: "foreign_tenant" },
      });
      expect((await list(`tenant_id=${other.id}`)).status).toBe(403);
      expect((await create({ name: "", tenant_id: String(other.id) })).status).toBe(403);
    });
    expect(entries.map(({ action, outcome, tenant_id }) => [action, outcome, tenant_id])).toEqual([
      ["department.create", "denied", clinic.id],
      ["department.list", "denied", clinic.id],
    ]);
    expect(await repeatsOf(service, clinic.id, "department.create")).toEqual([1]);
    expect(events).toEqual([]);
  });

  it("a head doctor reads and changes nothing; the others do neither", async () => {
    const { id } = await makeDepartment(service, clinic.token);
    const status = async (role: string) => {
      const { email } = await userOf(role);
      const token = await service.signInAs(email, clinic.subdomain);
      const answers = [
        await list("", token),
        await create({ name: "x" }, token),
        await put(id, { name: "x" }, token),
        await remove(id, token),
      ];
      return answers.map((answer) => answer.status);
    };
    expect(await status("head_doctor")).toEqual([200, 403, 403, 403]);
    for (const role of ["doctor", "nurse", "registrar"]) {
      expect(await status(role)).toEqual([403, 403, 403, 403]);
    }
  });
});

describe("404", () => {
  it("a foreign department, an unknown one and an impossible id cannot be told apart", async () => {
    const foreign = await makeDepartment(service, other.token);
    for (const ask of [
      (id: number | string) => put(id, { name: "x" }),
      (id: number | string) => remove(id),
    ]) {
      const answers = await Promise.all([foreign.id, 2_000_000_000, 0, -5, "99999999999"].map(ask));
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    }
    expect((await list("limit=200", other.token)).body.items).toContainEqual(
      expect.objectContaining({ id: foreign.id, name: foreign.name }),
    );
  });
});

describe("409", () => {
  it("a department with users says how many, and stays", async () => {
    const ward = await makeDepartment(service, clinic.token);
    await userOf("nurse", { department_id: ward.id });
    const one = await remove(ward.id);
    expect(one).toMatchObject({ status: 409, body: { code: "department_in_use" } });
    expect(one.body.detail).toMatch(/\b1 user\b.*\b0 patients\b/);
    await userOf("doctor", { department_id: ward.id });
    const { entries, events } = await traceOf(service, async () => {
      expect((await remove(ward.id)).body.detail).toMatch(/\b2 users\b/);
    });
    expect([entries, events]).toEqual([[], []]);
  });

  it("people who move in while it is being deleted are never left in no department", async () => {
    for (let round = 0; round < 8; round++) {
      const ward = await makeDepartment(service, clinic.token);
      const body = {
        email: `mover${round}@people.example`,
        password: "Well-Chosen-Secret-5",
        full_name: "Mover",
        role: "nurse",
        department_id: ward.id,
      };
      const [made, removed] = await Promise.all([
        service.call("POST", "/api/admin/users", { token: clinic.token, body }),
        // The password takes its time: a deletion that starts later meets the insertion halfway.
        new Promise((resolve) => setTimeout(resolve, round * 6)).then(() => remove(ward.id)),
      ]);
      expect([
        [201, 409],
        [422, 204],
      ]).toContainEqual([made.status, removed.status]);
    }
  });
});

describe("422", () => {
  it.each(["nurse", "registrar", "admin"])("a %s cannot be head", async (role) => {
    const { id } = await userOf(role);
    const answer = await create({ name: "x", head_doctor_id: id });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["body", "head_doctor_id"], type: "value_error" }]);
  });

  it("blocked, deleted, foreign and unknown doctors cannot, and are answered alike", async () => {
    const blocked = await userOf("doctor");
    await service.call("POST", `/api/admin/users/${blocked.id}/block`, { token: clinic.token });
    const deleted = await userOf("doctor");
    await service.call("DELETE", `/api/admin/users/${deleted.id}`, { token: clinic.token });
    const foreign = await makeUser(service, other.token, { role: "doctor" });
    const { id } = await makeDepartment(service, clinic.token);
    const ids = [blocked.id, deleted.id, foreign.id, 2_000_000_000];
    const answers = await Promise.all(
      ids.flatMap((head) => [
        put(id, { head_doctor_id: head }),
        create({ name: "x", head_doctor_id: head }),
        put(id, { head_doctor_id: head }, superadmin),
      ]),
    );
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(answers[0]?.status).toBe(422);
    expect(await headOf(id)).toBeNull();
  });

  it("a tenant that is not there, or deleted", async () => {
    const gone = await makeClinic(service, superadmin);
    await service.call("DELETE", `/api/admin/tenants/${gone.id}`, { token: superadmin });
    for (const tenant_id of [2_000_000_000, gone.id]) {
      const answer = await create({ name: "x", tenant_id }, superadmin);
      expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "tenant_id"] }] } });
    }
  });

  it.each([
    [{}, "name", "missing"],
    [{ name: "" }, "name", "string_too_short"],
    [{ name: " \t " }, "name", "string_too_short"],
    [{ name: "x".repeat(201) }, "name", "string_too_long"],
    [{ name: 5 }, "name", "string_type"],
    [{ name: "x", head_doctor_id: "x" }, "head_doctor_id", "int_parsing"],
    [{ name: "x", head_doctor_id: 0 }, "head_doctor_id", "greater_than_equal"],
    [{ name: "x", head_doctor_id: 1.5 }, "head_doctor_id", "int_from_float"],
    [{ name: "x", head_doctor_id: 3e9 }, "head_doctor_id", "less_than_equal"],
    [{ name: "x", tenant_id: "x" }, "tenant_id", "int_parsing"],
  ])("%j", async (body, field, type) => {
    const answer = await create(body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["body", field], type }]);
  });
});

describe("the list", () => {
  it("sorts by id, name and time of creation, without regard to case, ties by id", async () => {
    const own = await makeClinic(service, superadmin);
    for (const name of ["beta", "Alpha", "gamma", "alpha", "Ärzte"]) {
      await makeDepartment(service, own.token, { name });
    }
    const names = async (query: string) =>
      (await list(query, own.token)).body.items.map(({ name }: { name: string }) => name);
    expect(await names("")).toEqual(["beta", "Alpha", "gamma", "alpha", "Ärzte"]);
    expect(await names("sort_order=desc")).toEqual(["Ärzte", "alpha", "gamma", "Alpha", "beta"]);
    expect((await names("sort_by=name")).slice(0, 2)).toEqual(["Alpha", "alpha"]);
    expect(await names("sort_by=created_at&limit=2&page=2")).toEqual(["gamma", "alpha"]);
  });

  it("searches names by substring, case-insensitively, umlauts too, and literally", async () => {
    const own = await makeClinic(service, superadmin);
    for (const name of ["Hals_Nasen%Ohren", "HalsXNasenYOhren", "Ärztezimmer", "back\\slash"]) {
      await makeDepartment(service, own.token, { name });
    }
    const found = async (search: string) => {
      const { body } = await list(`search=${encodeURIComponent(search)}`, own.token);
      expect(body.total).toBe(body.items.length);
      return body.total;
    };
    expect(await found("nasen")).toBe(2);
    expect(await found("_")).toBe(1);
    expect(await found("%")).toBe(1);
    expect(await found("\\")).toBe(1);
    expect(await found("ärzte")).toBe(1);
    expect(await found("ÄRZTE".normalize("NFD"))).toBe(1);
    expect(await found("oh")).toBe(2);
    expect(await found("'; drop table departments --")).toBe(0);
    expect(await found("")).toBe(4);
  });

  it("a superadmin sees all tenants' or one tenant's, an administrator only their own", async () => {
    const of = async (query: string, token: string) =>
      new Set(
        (await list(`limit=200&${query}`, token)).body.items.map(
          (item: { tenant_id: number }) => item.tenant_id,
        ),
      );
    await makeDepartment(service, other.token);
    expect(await of("", clinic.token)).toEqual(new Set([clinic.id]));
    expect(await of(`tenant_id=${clinic.id}`, clinic.token)).toEqual(new Set([clinic.id]));
    expect(await of(`tenant_id=${other.id}`, superadmin)).toEqual(new Set([other.id]));
    expect((await of("", superadmin)).size).toBeGreaterThan(2);
  });

  it.each([
    ["sort_by=head_doctor_id", "sort_by"],
    ["sort_by=tenant_id;drop", "sort_by"],
    ["sort_order=up", "sort_order"],
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["page=0", "page"],
    ["page=x", "page"],
    ["tenant_id=x", "tenant_id"],
  ])("%s is 422", async (query, field) => {
    const answer = await list(query);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["query", field] }]);
  });
});

describe("a doctor who becomes head in the same moment in which they", () => {
  const url = () => service.database.url;
  const deleted = "update users set deleted_at = now() where id = $1";

  it("are deleted does not: whoever makes them head waits, and sees it", async () => {
    const [head, department] = [await userOf("doctor"), await makeDepartment(service, clinic.token)];
    const answer = await withHolder(url(), async (holder) => {
      await holder.query(deleted, [head.id]);
      return holder.commitBehind(() => put(department.id, { head_doctor_id: head.id }));
    });
    expect([answer.status, answer.body.detail[0].loc]).toEqual([422, ["body", "head_doctor_id"]]);
    expect(await headOf(department.id)).toBeNull();
  });

  it("are made head of a new department and deleted: there is no department", async () => {
    const head = await userOf("head_doctor");
    const answer = await withHolder(url(), async (holder) => {
      await holder.query(deleted, [head.id]);
      return holder.commitBehind(() => create({ name: "Late", head_doctor_id: head.id }));
    });
    expect(answer.status).toBe(422);
  });

  it.each([
    ["deleted", (id: number) => service.call("DELETE", `/api/admin/users/${id}`, { token: clinic.token })],
    [
      "given another role",
      (id: number) =>
        service.call("PUT", `/api/admin/users/${id}/role`, { token: clinic.token, body: { role: "nurse" } }),
    ],
  ])("are %s the other way round: the headship ends with it", async (_what, withdraw) => {
    const [head, department] = [await userOf("doctor"), await makeDepartment(service, clinic.token)];
    const answer = await withHolder(url(), async (holder) => {
      // As departments' service does it, not committed yet.
      await holder.query("select from users where id = $1 for share", [head.id]);
      await holder.query("update departments set head_doctor_id = $1 where id = $2", [
        head.id,
        department.id,
      ]);
      return holder.commitBehind(() => withdraw(head.id));
    });
    expect(answer.status).toBeLessThan(300);
    expect(await headOf(department.id)).toBeNull();
  });
});

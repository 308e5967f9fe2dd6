// Section 4.7: users, and every guard over who may do what to whom.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { withHolder } from "../support/holder.ts";
import { traceOf } from "../support/journal.ts";
import { type Answer, demoPassword, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeDepartment, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let superadminId: number;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let other: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
  superadminId = (await service.call("GET", "/api/users/me", { token: superadmin })).body.id;
  clinic = await makeClinic(service, superadmin);
  other = await makeClinic(service, superadmin);
});
afterAll(() => service.stop());

const path = (id: number | string, rest = "") => `/api/admin/users/${id}${rest}`;
const post = (to: string, token: string, body?: unknown): Promise<Answer> =>
  service.call("POST", to, { token, body });
const block = (id: number | string, token = clinic.token) => post(path(id, "/block"), token);
const unblock = (id: number | string, token = clinic.token) => post(path(id, "/unblock"), token);
const setRole = (id: number | string, role: unknown, token = clinic.token): Promise<Answer> =>
  service.call("PUT", path(id, "/role"), { token, body: { role } });
const remove = (id: number | string, token = clinic.token): Promise<Answer> =>
  service.call("DELETE", path(id), { token });
const person = (more: Record<string, unknown> = {}): Record<string, unknown> => ({
  email: `${unique("made")}@people.example`,
  password: demoPassword,
  full_name: "Petra Person",
  role: "nurse",
  ...more,
});
const create = (more: Record<string, unknown> = {}, token = clinic.token): Promise<Answer> =>
  post("/api/admin/users", token, person(more));
const newUser = (role = "nurse", token = clinic.token, more = {}) =>
  makeUser(service, token, { role, ...more });
const me = async (token: string): Promise<number> =>
  (await service.call("GET", "/api/users/me", { token })).status;
const stateOf = async (id: number): Promise<{ role: string; is_active: boolean; deleted: boolean }> => {
  const sql = "select role, is_active, deleted_at is not null as deleted from users where id = $1";
  return (await service.database.owner.query(sql, [id])).rows[0];
};

describe("201", () => {
  it("answers the user, fields in the interface's order and ours after them", async () => {
    const ward = await makeDepartment(service, clinic.token);
    const more = { department_id: ward.id, can_see_all_patients: true, full_name: "  Peter  Ünal " };
    const { status, body } = await create(more);
    expect(status).toBe(201);
    expect(Object.keys(body)).toEqual(
      "id email full_name role tenant_id department_id can_see_all_patients is_active email_verified created_at".split(
        " ",
      ),
    );
    expect(body).toMatchObject({
      full_name: "Peter  Ünal",
      tenant_id: clinic.id,
      department_id: ward.id,
      can_see_all_patients: true,
      is_active: true,
      email_verified: true,
    });
  });

  it("can sign in at once", async () => {
    const { body } = await create();
    expect(await me(await service.signInAs(body.email, clinic.subdomain))).toBe(200);
  });

  it("sees not all patients unless it is said", async () => {
    expect((await create()).body.can_see_all_patients).toBe(false);
    expect((await create({ can_see_all_patients: "yes" })).body.can_see_all_patients).toBe(true);
  });

  it.each(["admin", "head_doctor", "doctor", "nurse", "registrar"])("an admin makes a %s", async (role) => {
    expect(await create({ role })).toMatchObject({ status: 201, body: { role } });
  });

  it("a superadmin makes users of any tenant, and superadmins of the platform", async () => {
    expect((await create({ tenant_id: other.id }, superadmin)).body.tenant_id).toBe(other.id);
    expect(await create({ role: "superadmin" }, superadmin)).toMatchObject({
      status: 201,
      body: { role: "superadmin" },
    });
  });

  it("leaves one entry and one event, and no password", async () => {
    const { entries, events } = await traceOf(service, () => create({ password: "Hidden-From-All-42" }));
    expect(entries).toMatchObject([{ action: "user.create", outcome: "ok", user_id: clinic.admin.id }]);
    const id = Number(entries[0]?.target_id);
    expect(events).toMatchObject([{ kind: "user.created", payload: { user_id: id, role: "nurse" } }]);
    expect(JSON.stringify([entries, events])).not.toMatch(/Hidden|argon2/);
  });
});

describe("200", () => {
  it("block ends every session at once; unblock does not bring them back", async () => {
    const user = await newUser();
    const session = await service.signInAs(user.email, clinic.subdomain);
    const blocked = await traceOf(service, async () => {
      expect(await block(user.id)).toMatchObject({ status: 200, body: { id: user.id, is_active: false } });
    });
    expect(blocked.entries).toMatchObject([{ action: "user.block", target_id: String(user.id) }]);
    expect(blocked.events).toMatchObject([{ kind: "user.blocked", payload: { user_id: user.id } }]);
    expect(await me(session)).toBe(401);
    const unblocked = await traceOf(service, async () => {
      expect(await unblock(user.id)).toMatchObject({ status: 200, body: { is_active: true } });
    });
    expect(unblocked.entries).toMatchObject([{ action: "user.unblock" }]);
    expect(unblocked.events).toMatchObject([{ kind: "user.unblocked" }]);
    expect(await me(session)).toBe(401);
    expect(await me(await service.signInAs(user.email, clinic.subdomain))).toBe(200);
  });

  it("a second block or unblock answers the same and leaves nothing", async () => {
    const user = await newUser();
    expect(await traceOf(service, () => unblock(user.id))).toEqual({ entries: [], events: [] });
    await block(user.id);
    const again = await traceOf(service, async () => {
      expect(await block(user.id)).toMatchObject({ status: 200, body: { is_active: false } });
    });
    expect(again).toEqual({ entries: [], events: [] });
  });

  it("a new role ends every session and counts at the next sign-in; the same role changes nothing", async () => {
    const user = await newUser();
    const session = await service.signInAs(user.email, clinic.subdomain);
    expect(await traceOf(service, () => setRole(user.id, "nurse"))).toEqual({ entries: [], events: [] });
    expect(await me(session)).toBe(200);
    const { entries, events } = await traceOf(service, async () => {
      expect(await setRole(user.id, "admin")).toMatchObject({ status: 200, body: { role: "admin" } });
    });
    expect(entries).toMatchObject([{ action: "user.set_role", changes: { from: "nurse", to: "admin" } }]);
    expect(events).toMatchObject([{ kind: "user.role_changed", payload: { from: "nurse", to: "admin" } }]);
    expect(await me(session)).toBe(401);
    const next = await service.signInAs(user.email, clinic.subdomain);
    expect((await service.call("GET", "/api/admin/users", { token: next })).status).toBe(200);
  });

  it("a superadmin acts on users of any tenant", async () => {
    const user = await newUser("nurse", other.token);
    expect((await block(user.id, superadmin)).status).toBe(200);
    expect((await setRole(user.id, "doctor", superadmin)).status).toBe(200);
    expect((await unblock(user.id, superadmin)).status).toBe(200);
    expect((await remove(user.id, superadmin)).status).toBe(204);
  });
});

describe("204", () => {
  it("hides the user at once and everywhere, frees the address, and leaves one entry and one event", async () => {
    const user = await newUser();
    const session = await service.signInAs(user.email, clinic.subdomain);
    const { entries, events } = await traceOf(service, async () => {
      const answer = await remove(user.id);
      expect([answer.status, answer.body]).toEqual([204, ""]);
    });
    expect(entries).toMatchObject([{ action: "user.delete", target_id: String(user.id) }]);
    expect(events).toMatchObject([{ kind: "user.deleted", payload: { user_id: user.id } }]);
    expect(await me(session)).toBe(401);
    for (const answer of [await remove(user.id), await block(user.id), await setRole(user.id, "doctor")]) {
      expect(answer.status).toBe(404);
    }
    expect((await create({ email: user.email.toUpperCase() })).status).toBe(201);
  });
});

describe("403", () => {
  it.each(["superadmin"])("an admin does not grant %s", async (role) => {
    const user = await newUser();
    expect((await create({ role })).status).toBe(403);
    expect(await setRole(user.id, role)).toMatchObject({ status: 403, body: { code: "role_too_high" } });
    expect((await stateOf(user.id)).role).toBe("nurse");
  });

  it("another tenant's id in the body is refused, whatever else is wrong", async () => {
    for (const more of [{}, { email: "none" }, { role: "god" }]) {
      const answer = await create({ tenant_id: other.id, ...more });
      expect(answer).toMatchObject({ status: 403, body: { code: "foreign_tenant" } });
    }
    expect((await create({ tenant_id: clinic.id })).status).toBe(201);
    expect((await create({ tenant_id: null })).status).toBe(201);
  });

  it("an admin of the platform has no power over its superadmins", async () => {
    const platformAdmin = await newUser("admin", superadmin);
    const token = await service.signInAs(platformAdmin.email, "platform");
    const boss = await newUser("superadmin", superadmin);
    const answers = [
      await block(boss.id, token),
      await unblock(boss.id, token),
      await setRole(boss.id, "nurse", token),
      await remove(boss.id, token),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [403, "role_too_high"]),
    );
    expect(await stateOf(boss.id)).toEqual({ role: "superadmin", is_active: true, deleted: false });
    expect((await setRole(platformAdmin.id, "superadmin", token)).status).toBe(403);
  });

  it("head doctors read and change nothing; others do neither; each refusal is an entry", async () => {
    const victim = await newUser();
    for (const [role, reads] of [
      ["head_doctor", 200],
      ["doctor", 403],
      ["nurse", 403],
      ["registrar", 403],
    ] as const) {
      const user = await newUser(role);
      const token = await service.signInAs(user.email, clinic.subdomain);
      const { entries } = await traceOf(service, async () => {
        const answers = [
          await service.call("GET", "/api/admin/users", { token }),
          await create({}, token),
          await block(victim.id, token),
          await unblock(victim.id, token),
          await setRole(victim.id, "doctor", token),
          await remove(victim.id, token),
        ];
        expect(answers.map(({ status }) => status)).toEqual([reads, 403, 403, 403, 403, 403]);
      });
      const denied = ["create", "block", "unblock", "set_role", "delete"].map((verb) => `user.${verb}`);
      expect(entries.map(({ action }) => action)).toEqual(reads === 200 ? denied : ["user.list", ...denied]);
      expect(entries.every(({ outcome, user_id }) => outcome === "denied" && user_id === user.id)).toBe(true);
    }
    expect(await stateOf(victim.id)).toEqual({ role: "nurse", is_active: true, deleted: false });
  });
});

describe("404", () => {
  it("a foreign user, an unknown one, a deleted one and an impossible id cannot be told apart", async () => {
    const foreign = await newUser("nurse", other.token);
    const deleted = await newUser();
    await remove(deleted.id);
    const ids = [foreign.id, superadminId, deleted.id, 2_000_000_000, 0, -1, "99999999999"];
    for (const ask of [block, unblock, remove, (id: number | string) => setRole(id, "doctor")]) {
      const answers = await Promise.all(ids.map((id) => ask(id)));
      expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 404));
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    }
    expect(await stateOf(foreign.id)).toEqual({ role: "nurse", is_active: true, deleted: false });
  });
});

describe("409", () => {
  it("nobody blocks, demotes or deletes themselves", async () => {
    await newUser("admin");
    const { id } = clinic.admin;
    const answers = [await block(id), await setRole(id, "nurse"), await remove(id)];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
      answers.map(() => [409, "own_account"]),
    );
    expect((await setRole(id, "admin")).status).toBe(200);
    expect(await me(clinic.token)).toBe(200);
  });

  it("the last active admin of a tenant stays, also for a superadmin", async () => {
    const own = await makeClinic(service, superadmin);
    const second = await newUser("admin", own.token);
    await block(second.id, own.token);
    const { entries, events } = await traceOf(service, async () => {
      for (const answer of [
        await block(own.admin.id, superadmin),
        await setRole(own.admin.id, "head_doctor", superadmin),
        await remove(own.admin.id, superadmin),
      ]) {
        expect(answer).toMatchObject({ status: 409, body: { code: "last_admin" } });
      }
    });
    expect([entries, events]).toEqual([[], []]);
    await unblock(second.id, own.token);
    expect((await block(own.admin.id, superadmin)).status).toBe(200);
    expect((await remove(second.id, superadmin)).status).toBe(409);
    expect((await remove(own.admin.id, superadmin)).status).toBe(204);
  });

  it("of two admins who are taken away in the same moment the second stays", async () => {
    const own = await makeClinic(service, superadmin);
    const second = await newUser("admin", own.token);
    const answer = await withHolder(service.database.url, async (holder) => {
      // As another process does it, not committed yet.
      await holder.query("select from tenants where id = $1 for no key update", [own.id]);
      await holder.query(
        "update users set is_active = false, session_epoch = session_epoch + 1 where id = $1",
        [own.admin.id],
      );
      return holder.commitBehind(() => setRole(second.id, "nurse", superadmin));
    });
    expect(answer).toMatchObject({ status: 409, body: { code: "last_admin" } });
  });

  it("the last superadmin stays", async () => {
    const sql = "update users set is_active = false where role = 'superadmin' and id <> $1";
    await service.database.owner.query(sql, [superadminId]);
    const boss = await newUser("superadmin", superadmin);
    const token = await service.signInAs(boss.email, "platform");
    expect((await block(superadminId, token)).status).toBe(200);
    expect((await unblock(superadminId, token)).status).toBe(200);
    superadmin = await service.signIn("superadmin");
    expect((await block(boss.id, superadmin)).status).toBe(200);
    for (const answer of [await block(superadminId, superadmin), await remove(superadminId, superadmin)]) {
      expect(answer.status).toBe(409);
    }
    expect((await unblock(boss.id, superadmin)).status).toBe(200);
  });

  it("an address that is taken in this tenant, whatever its case; of ten at once one is made", async () => {
    const body = person();
    const send = () => post("/api/admin/users", clinic.token, body);
    const { entries, events } = await traceOf(service, async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, send));
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    });
    expect(entries.map(({ action }) => action)).toEqual(["user.create"]);
    expect(events.map(({ kind }) => kind)).toEqual(["user.created"]);
    const again = await post("/api/admin/users", clinic.token, {
      ...body,
      email: String(body.email).toUpperCase(),
    });
    expect(again).toMatchObject({ status: 409, body: { code: "email_taken" } });
    expect((await post("/api/admin/users", other.token, body)).status).toBe(201);
  });
});

describe("two administrators who act on each other at once", () => {
  const acts = [
    ["block", (id: number, token: string) => block(id, token)],
    ["delete", (id: number, token: string) => remove(id, token)],
    ["demote", (id: number, token: string) => setRole(id, "nurse", token)],
  ] as const;

  it("one of them always stays, whatever they do and whoever comes first", async () => {
    for (let round = 0; round < 36; round++) {
      const own = round % 9 === 0 ? await makeClinic(service, superadmin) : undefined;
      if (own !== undefined) current = { ...own, second: await newUser("admin", own.token) };
      const [, one] = acts[round % 3] ?? acts[0];
      const [, two] = acts[Math.floor(round / 3) % 3] ?? acts[0];
      await duel(one, two, round % 5);
    }
  });

  let current: Awaited<ReturnType<typeof makeClinic>> & { second: { id: number; email: string } };
  async function duel(
    one: (id: number, token: string) => Promise<Answer>,
    two: (id: number, token: string) => Promise<Answer>,
    offsetMs: number,
  ): Promise<void> {
    const { admin, second, subdomain, id } = current;
    const { owner } = service.database;
    // Both stand again as they stood: the duel is about the order of two requests, not about passwords.
    await owner.query(
      "update users set role = 'admin', is_active = true, deleted_at = null where id = any($1)",
      [[admin.id, second.id]],
    );
    const tokens = await Promise.all([admin, second].map(({ email }) => service.signInAs(email, subdomain)));
    const answers = await Promise.all([
      one(second.id, tokens[0] ?? ""),
      new Promise((resolve) => setTimeout(resolve, offsetMs)).then(() => two(admin.id, tokens[1] ?? "")),
    ]);
    const sql = `select count(*)::integer as admins from users
      where tenant_id = $1 and role = 'admin' and is_active and deleted_at is null`;
    expect((await owner.query(sql, [id])).rows).toEqual([{ admins: 1 }]);
    const [won, lost] = answers.map(({ status }) => status).sort((a, b) => a - b);
    expect([200, 204]).toContain(won);
    // The other one came too late: stopped by the guard, or no longer somebody.
    expect([401, 409]).toContain(lost);
  }
});

describe("422", () => {
  it("all that is missing comes back together", async () => {
    const { status, body } = await post("/api/admin/users", clinic.token, {});
    expect(status).toBe(422);
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc[1])).toEqual([
      "email",
      "password",
      "full_name",
      "role",
    ]);
  });

  it.each([
    ["email", "none", "value_error"],
    ["email", 1, "string_type"],
    ["password", "1234567", "string_too_short"],
    ["password", "qwertyuiop", "value_error"],
    ["password", "Petra Person 1", "value_error"],
    ["full_name", "\u00a0", "string_too_short"],
    ["role", "root", "literal_error"],
    ["role", null, "literal_error"],
    ["role", ["admin"], "literal_error"],
    ["department_id", 2_000_000_000, "value_error"],
    ["department_id", "x", "int_parsing"],
    ["can_see_all_patients", "maybe", "bool_parsing"],
    ["can_see_all_patients", null, "bool_type"],
    ["tenant_id", "x", "int_parsing"],
  ])("%s %j is %s", async (field, value, type) => {
    const answer = await create({ [field]: value });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ["body", field], type }]);
  });

  it("a department of another tenant, for an admin and for a superadmin", async () => {
    const ward = await makeDepartment(service, other.token);
    expect((await create({ department_id: ward.id })).status).toBe(422);
    const crossed = await create({ department_id: ward.id, tenant_id: clinic.id }, superadmin);
    expect(crossed).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "department_id"] }] } });
  });

  it("superadmins belong to the platform", async () => {
    const user = await newUser();
    expect((await create({ role: "superadmin", tenant_id: clinic.id }, superadmin)).status).toBe(422);
    const raised = await setRole(user.id, "superadmin", superadmin);
    expect(raised).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "role"] }] } });
  });

  it("a tenant that is not there, for a superadmin", async () => {
    const answer = await create({ tenant_id: 2_000_000_000 }, superadmin);
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc: ["body", "tenant_id"] }] } });
  });

  it.each([undefined, null, "", "god", 1, ["nurse"], { role: "nurse" }])("the role %j", async (role) => {
    const user = clinic.admin;
    expect((await setRole(user.id, role)).status).toBe(422);
  });
});

// Restoring one tenant: what comes back, what does not, what the others notice, and what a failed one leaves.
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { eventually, startService, type TestService } from "../../support/service.ts";
import { makeDepartment, makeUser } from "../../support/tenancy.ts";
import { backUp, type Clinic, ended, makePatient, openClinic, restore, tableSums } from "./scene.ts";

let service: TestService;
let superadmin: string;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
});
afterAll(() => service?.stop());

const call: TestService["call"] = (...args) => service.call(...args);
const owner = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;

async function planOf(clinic: Clinic, backupId: string) {
  const answer = await call("POST", "/api/admin/backup/restore", {
    token: clinic.token,
    body: { backup_id: backupId },
  });
  expect(answer.status).toBe(200);
  expect(answer.body.applied).toBe(false);
  return Object.fromEntries(
    answer.body.plan.tables.map((each: { table: string; add: number; change: number; remove: number }) => [
      each.table,
      [each.add, each.change, each.remove],
    ]),
  );
}

const nothing = {
  tenants: [0, 0, 0],
  departments: [0, 0, 0],
  users: [0, 0, 0],
  preferences: [0, 0, 0],
  patients: [0, 0, 0],
  patient_records: [0, 0, 0],
};

describe("a restore", () => {
  it("brings back what was deleted and changed, takes away what was added, and says so before", async () => {
    const clinic = await openClinic(service, superadmin);
    const { token } = clinic;
    const ward = await makeDepartment(service, token);
    const nurse = await makeUser(service, token, { department_id: ward.id });
    const kept = await makePatient(service, token, "Kept Patient");
    const deleted = await makePatient(service, token, "Deleted Patient");
    const changed = await makePatient(service, token, "Changed Patient", "OLD-1");
    const written = { token, body: { kind: "note", body: "written before" } };
    await call("POST", `/api/patients/${deleted.id}/records`, written);
    await call("PUT", "/api/preferences", { token, body: { theme: "dark", settings: { a: 1 } } });
    const made = await backUp(service, token);
    expect(await planOf(clinic, made.backup_id)).toEqual(nothing);

    expect((await call("DELETE", `/api/patients/${deleted.id}`, { token })).status).toBe(204);
    expect((await call("DELETE", `/api/admin/users/${nurse.id}`, { token })).status).toBe(204);
    const change = { full_name: "Other Name", record_number: "NEW-1", version: changed.version };
    expect((await call("PUT", `/api/patients/${changed.id}`, { token, body: change })).status).toBe(200);
    const added = await makePatient(service, token, "Added Patient", "OLD-1");
    const addedUser = await makeUser(service, token);
    const addedWard = await makeDepartment(service, token);
    await call("POST", `/api/patients/${kept.id}/records`, {
      token,
      body: { kind: "note", body: "written since" },
    });
    await call("PUT", "/api/preferences", { token, body: { theme: "light", settings: { a: 2 } } });

    const before = await tableSums(service.database.owner);
    expect(await planOf(clinic, made.backup_id)).toEqual({
      tenants: [0, 0, 0],
      departments: [0, 0, 1],
      users: [1, 0, 1],
      preferences: [0, 1, 0],
      patients: [1, 1, 1],
      patient_records: [0, 0, 1],
    });
    expect(await tableSums(service.database.owner)).toEqual(before);

    const job = await restore(service, token, made.backup_id);
    expect(job).toMatchObject({ status: "succeeded", error: null });
    expect(await planOf(clinic, made.backup_id)).toEqual(nothing);

    const again = await call("GET", `/api/patients/${deleted.id}`, { token });
    expect(again.body).toMatchObject({ full_name: "Deleted Patient", record_number: deleted.record_number });
    const records = await call("GET", `/api/patients/${deleted.id}/records`, { token });
    expect(records.body.items).toMatchObject([{ body: "written before" }]);
    const old = await call("GET", `/api/patients/${changed.id}`, { token });
    expect(old.body).toMatchObject({ full_name: "Changed Patient", record_number: "OLD-1" });
    // A client that holds the version of before must not overwrite what came back.
    expect(old.body.version).toBeGreaterThan(changed.version + 1);
    expect((await call("GET", `/api/patients/${added.id}`, { token })).status).toBe(404);
    const since = await call("GET", `/api/patients/${kept.id}/records`, { token });
    expect(since.body.items).toEqual([]);
    const users = (await call("GET", "/api/admin/users?limit=200", { token })).body;
    const ids = users.items.map(({ id }: { id: number }) => id);
    expect(ids).toContain(nurse.id);
    expect(ids).not.toContain(addedUser.id);
    expect(users.total).toBe(users.items.length);
    const wards = (await call("GET", "/api/admin/departments", { token })).body.items;
    expect(wards.map(({ id }: { id: number }) => id)).toEqual([ward.id]);
    expect(wards).not.toContainEqual(expect.objectContaining({ id: addedWard.id }));
    const preferences = await call("GET", "/api/preferences", { token });
    expect(preferences.body).toMatchObject({ theme: "dark", settings: { a: 1 } });
    expect((await call("GET", "/api/admin/audit/verify", { token })).body).toMatchObject({ ok: true });
    await worksOn(clinic, [deleted.id, changed.id, added.id]);
  });

  /** Ids, numbers, search and counters after a restore. */
  async function worksOn({ token, id }: Clinic, known: number[]): Promise<void> {
    const fresh = await makePatient(service, token, "Fresh Patient");
    expect(known).not.toContain(fresh.id);
    const found = await call("GET", "/api/patients?full_name=Deleted%20Patient", { token });
    expect(found.body.total ?? found.body.items?.length).toBeGreaterThan(0);
    const user = await makeUser(service, token);
    expect(user.id).toBeGreaterThan(0);
    const [counted] = await owner(
      `select (select coalesce(sum(users), 0)::integer from user_counts where tenant_id = $1) as kept,
        (select count(*)::integer from users where tenant_id = $1 and deleted_at is null) as counted`,
      [id],
    );
    expect(counted.kept).toBe(counted.counted);
  }

  it("turns back no block, no role, no password, no session and no sight", async () => {
    const clinic = await openClinic(service, superadmin);
    const { token } = clinic;
    const blocked = await makeUser(service, token);
    const demoted = await makeUser(service, token, { role: "head_doctor" });
    const demotedToken = await service.signInAs(demoted.email, clinic.subdomain);
    const blockedToken = await service.signInAs(blocked.email, clinic.subdomain);
    const made = await backUp(service, token);
    await call("POST", `/api/admin/users/${blocked.id}/block`, { token });
    await call("PUT", `/api/admin/users/${demoted.id}/role`, { token, body: { role: "nurse" } });
    // Of both there is something that does come back, so that their rows are written.
    await owner("update users set full_name = 'Another Name' where id = any($1)", [[blocked.id, demoted.id]]);
    const state = () =>
      owner(
        `select id, role, is_active, approved_at, password_hash, session_epoch, can_see_all_patients from users
         where tenant_id = $1 order by id`,
        [clinic.id],
      );
    const sessions = () =>
      owner("select id, ended_at from sessions where tenant_id = $1 order by id", [clinic.id]);
    const before = await state();
    const known = (await sessions()).map(({ id }) => id);
    expect((await restore(service, token, made.backup_id)).status).toBe("succeeded");
    expect(await state()).toEqual(before);
    expect(await owner("select from users where full_name = 'Another Name'")).toEqual([]);
    // Dead ones are dropped by and by; none comes back.
    expect((await sessions()).map(({ id }) => id).filter((id) => !known.includes(id))).toEqual([]);
    for (const dead of [blockedToken, demotedToken])
      expect((await call("GET", "/api/auth/me", { token: dead })).status).toBe(401);
    const login = { email: blocked.email, password: "Open-Sesame-4711", subdomain: clinic.subdomain };
    expect((await call("POST", "/api/auth/login", { body: login })).status).toBe(403);
  });

  it("a user whose row is gone comes back blocked and without a password", async () => {
    const clinic = await openClinic(service, superadmin);
    const gone = await makeUser(service, clinic.token, { role: "doctor" });
    const made = await backUp(service, clinic.token);
    await owner("delete from users where id = $1", [gone.id]);
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
    const [back] = await owner("select email, role, is_active, password_hash from users where id = $1", [
      gone.id,
    ]);
    expect(back).toMatchObject({ email: gone.email, role: "doctor", is_active: false });
    await call("POST", `/api/admin/users/${gone.id}/unblock`, { token: clinic.token });
    const login = { email: gone.email, password: "Open-Sesame-4711", subdomain: clinic.subdomain };
    expect((await call("POST", "/api/auth/login", { body: login })).status).toBe(401);
  });

  it("an administrator who came since stays, so that nobody is shut out", async () => {
    const clinic = await openClinic(service, superadmin);
    const made = await backUp(service, clinic.token);
    const second = await makeUser(service, clinic.token, { role: "admin" });
    const token = await service.signInAs(second.email, clinic.subdomain);
    expect((await restore(service, token, made.backup_id)).status).toBe("succeeded");
    expect((await call("GET", "/api/auth/me", { token })).status).toBe(200);
  });

  it("two patients who exchanged their numbers get them back", async () => {
    const { token } = await openClinic(service, superadmin);
    const [one, two] = [
      await makePatient(service, token, "One", "NUMBER-1"),
      await makePatient(service, token, "Two", "NUMBER-2"),
    ];
    const made = await backUp(service, token);
    const number = async (id: number, version: number, value: string) =>
      (await call("PUT", `/api/patients/${id}`, { token, body: { version, record_number: value } })).body
        .version;
    const at = await number(one.id, one.version, "NUMBER-3");
    await number(two.id, two.version, "NUMBER-1");
    await number(one.id, at, "NUMBER-2");
    expect((await restore(service, token, made.backup_id)).status).toBe("succeeded");
    const numberOf = async (id: number) =>
      (await call("GET", `/api/patients/${id}`, { token })).body.record_number;
    expect([await numberOf(one.id), await numberOf(two.id)]).toEqual(["NUMBER-1", "NUMBER-2"]);
  });

  it("changes nothing of any other tenant, nor of what is kept", async () => {
    const [clinic, other] = [await openClinic(service, superadmin), await openClinic(service, superadmin)];
    await makePatient(service, other.token, "Not theirs");
    const mine = await makePatient(service, clinic.token, "Theirs");
    const made = await backUp(service, clinic.token);
    await call("DELETE", `/api/patients/${mine.id}`, { token: clinic.token });
    const before = await tableSums(service.database.owner, `tenant_id = ${other.id}`);
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
    expect(await tableSums(service.database.owner, `tenant_id = ${other.id}`)).toEqual(before);
  });

  it("leaves a safety backup, from which it can be taken back", async () => {
    const { token } = await openClinic(service, superadmin);
    const made = await backUp(service, token);
    const added = await makePatient(service, token, "Added Later");
    const job = await restore(service, token, made.backup_id);
    expect((await call("GET", `/api/patients/${added.id}`, { token })).status).toBe(404);
    const list = (await call("GET", "/api/admin/backup/list", { token })).body.items;
    expect(list.map((each: { reason: string }) => each.reason)).toEqual(["safety", "manual"]);
    expect((await restore(service, token, String(job.safety_backup_id))).status).toBe("succeeded");
    expect((await call("GET", `/api/patients/${added.id}`, { token })).body.full_name).toBe("Added Later");
  });

  it("works after the keys were rotated, with a backup of before", async () => {
    const { token } = await openClinic(service, superadmin);
    const patient = await makePatient(service, token, "Sealed Before");
    const made = await backUp(service, token);
    const key = randomBytes(32).toString("base64");
    expect(
      (await call("POST", "/api/admin/encryption/rotate", { token: superadmin, body: { new_key: key } }))
        .status,
    ).toBe(200);
    await call("DELETE", `/api/patients/${patient.id}`, { token });
    expect((await restore(service, token, made.backup_id)).status).toBe("succeeded");
    expect((await call("GET", `/api/patients/${patient.id}`, { token })).body.full_name).toBe(
      "Sealed Before",
    );
  });
});

describe("what a restore leaves", () => {
  it("a restore that fails while the rows are exchanged changes nothing, and lets the tenant in at once", async () => {
    const clinic = await openClinic(service, superadmin);
    const patient = await makePatient(service, clinic.token, "Kept");
    const made = await backUp(service, clinic.token);
    await call("DELETE", `/api/patients/${patient.id}`, { token: clinic.token });
    await owner(`
      create function refuse_restore() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger refuse_restore before update on patients for each row
        when (new.tenant_id = ${clinic.id}) execute function refuse_restore()`);
    try {
      const body = { backup_id: made.backup_id, confirm: true };
      const begun = await call("POST", "/api/admin/backup/restore", { token: clinic.token, body });
      const job = await ended(service, clinic.token, begun.body.job_id);
      expect(job.status).toBe("failed");
      // The job ends after the door was opened; a freeze that were only to run out would last for seconds yet.
      expect(await owner("select from tenant_freezes where tenant_id = $1", [clinic.id])).toEqual([]);
      expect((await call("GET", "/api/users/me", { token: clinic.token })).status).toBe(200);
    } finally {
      await owner("drop trigger refuse_restore on patients; drop function refuse_restore()");
    }
    expect((await call("GET", `/api/patients/${patient.id}`, { token: clinic.token })).status).toBe(404);
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
    expect((await call("GET", `/api/patients/${patient.id}`, { token: clinic.token })).status).toBe(200);
  });

  it("ids go on behind those of the archive, where the database's own count is behind it", async () => {
    const clinic = await openClinic(service, superadmin);
    const first = await makePatient(service, clinic.token, "First");
    const last = await makePatient(service, clinic.token, "Last");
    const made = await backUp(service, clinic.token);
    // As after the whole database was brought back from before the archive.
    await owner("delete from patients where tenant_id = $1", [clinic.id]);
    await owner("select setval('patients_id_seq', $1, false)", [first.id]);
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
    const next = await makePatient(service, clinic.token, "Next");
    expect(next.id).toBeGreaterThan(last.id);
    const { status, body } = await call("GET", `/api/patients/${last.id}`, { token: clinic.token });
    expect([status, body.full_name]).toEqual([200, "Last"]);
    // Neither a stale client nor a cache is believed.
    expect(body.version).toBeGreaterThan(last.version);
  });
});

describe("who may restore what", () => {
  it("another tenant's backup is not there, and a full one is not restored in place", async () => {
    const [clinic, other] = [await openClinic(service, superadmin), await openClinic(service, superadmin)];
    const made = await backUp(service, other.token);
    for (const confirm of [true, false]) {
      const body = { backup_id: made.backup_id, confirm };
      expect((await call("POST", "/api/admin/backup/restore", { token: clinic.token, body })).status).toBe(
        404,
      );
    }
    const full = await backUp(service, superadmin);
    const answer = await call("POST", "/api/admin/backup/restore", {
      token: superadmin,
      body: { backup_id: full.backup_id, confirm: true },
    });
    expect([answer.status, answer.body.code]).toEqual([409, "full_restore_offline"]);
  });

  it.each([["true"], [1]])("confirm %j is taken for a yes only as Pydantic takes it", async (confirm) => {
    const { token } = await openClinic(service, superadmin);
    const made = await backUp(service, token);
    const answer = await call("POST", "/api/admin/backup/restore", {
      token,
      body: { backup_id: made.backup_id, confirm },
    });
    expect(answer.status).toBe(200);
    await ended(service, token, answer.body.job_id);
  });

  it.each([["yes please"], [[]], [{}], [2]])("confirm %j is refused", async (confirm) => {
    const { token } = await openClinic(service, superadmin);
    const body = { backup_id: `bk_${"0".repeat(32)}`, confirm };
    expect((await call("POST", "/api/admin/backup/restore", { token, body })).status).toBe(422);
  });

  it("a type that is not the backup's is a conflict", async () => {
    const { token } = await openClinic(service, superadmin);
    const made = await backUp(service, token);
    const body = { backup_id: made.backup_id, type: "full" };
    expect((await call("POST", "/api/admin/backup/restore", { token, body })).status).toBe(409);
  });
});

describe("the freeze", () => {
  it("keeps one tenant out with 503 until it ends or runs out, and only that one; the job's status is told", async () => {
    const [clinic, other] = [await openClinic(service, superadmin), await openClinic(service, superadmin)];
    const made = await backUp(service, clinic.token);
    const patient = await makePatient(service, clinic.token, "Frozen");
    await owner(
      "insert into tenant_freezes (tenant_id, job_id, until) values ($1, gen_random_uuid(), now() + interval '1 hour')",
      [clinic.id],
    );
    const tries = [
      ["GET", `/api/patients/${patient.id}`, undefined],
      ["GET", "/api/auth/me", undefined],
      ["POST", "/api/patients", { record_number: "X", full_name: "Y" }],
      ["POST", "/api/admin/users", {}],
    ] as const;
    for (const [method, path, body] of tries) {
      const answer = await call(method, path, {
        token: clinic.token,
        ...(body === undefined ? {} : { body }),
      });
      expect([answer.status, answer.body.code]).toEqual([503, "tenant_restoring"]);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const login = { email: clinic.admin.email, password: "Open-Sesame-4711", subdomain: clinic.subdomain };
    expect((await call("POST", "/api/auth/login", { body: login })).status).toBe(503);
    const asSuperadmin = await call("POST", "/api/admin/departments", {
      token: superadmin,
      body: { name: "Meanwhile", tenant_id: clinic.id },
    });
    expect(asSuperadmin.status).toBe(503);
    expect(
      (await call("GET", `/api/admin/backup/status/${made.job_id}`, { token: clinic.token })).status,
    ).toBe(200);
    expect((await call("GET", "/api/auth/me", { token: other.token })).status).toBe(200);
    await makePatient(service, other.token, "Not frozen");
    await owner("update tenant_freezes set until = now() where tenant_id = $1", [clinic.id]);
    expect((await call("GET", "/api/auth/me", { token: clinic.token })).status).toBe(200);
    // What a dead job left hinders no other one.
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
    expect(await owner("select from tenant_freezes")).toEqual([]);
  });

  it("a write that is under way is waited for, and one that begins later is refused", async () => {
    const clinic = await openClinic(service, superadmin);
    const made = await backUp(service, clinic.token);
    const writer = new pg.Client({ connectionString: service.database.url });
    await writer.connect();
    try {
      await writer.query("begin");
      await writer.query("insert into departments (tenant_id, name) values ($1, 'Under way')", [clinic.id]);
      const body = { backup_id: made.backup_id, confirm: true };
      const begun = await call("POST", "/api/admin/backup/restore", { token: clinic.token, body });
      await eventually(async () => {
        const waiting =
          "select from pg_locks where locktype = 'advisory' and not granted and classid = 7206513 and objid = $1";
        return (await service.database.owner.query(waiting, [clinic.id])).rowCount === 1;
      });
      // Also past the gateway, in the database itself; and nobody waits with a row in hand.
      await expect(
        owner("insert into departments (tenant_id, name) values ($1, 'Too late')", [clinic.id]),
      ).rejects.toMatchObject({ code: "RF001" });
      await writer.query("commit");
      expect((await ended(service, clinic.token, begun.body.job_id)).status).toBe("succeeded");
    } finally {
      await writer.end();
    }
    // It had ended before the rows were exchanged, so it went with them, as what came after the backup does.
    expect(await owner("select name from departments where tenant_id = $1", [clinic.id])).toEqual([]);
    await makePatient(service, clinic.token, "After it");
  });
});

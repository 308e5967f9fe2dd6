// What somebody with an administrator's token may not do to others, or get back for himself, by backups and restores.
import { get, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { dailyLimits } from "../../../services/shared/limits/daily-limit.ts";
import { demoPassword, eventually, startService, type TestService } from "../../support/service.ts";
import { makeDepartment, makeUser } from "../../support/tenancy.ts";
import { holdLock } from "./gates.ts";
import { backUp, begin, type Clinic, ended, makePatient, openClinic, restore } from "./scene.ts";

let service: TestService;
let superadmin: string;
beforeAll(async () => {
  service = await startService({ RATE_REQUESTS_PER_MINUTE: "1000000" });
  superadmin = await service.signIn("superadmin");
});
afterAll(() => service?.stop());

const call: TestService["call"] = (...args) => service.call(...args);
const owner = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;

const signInStatus = async (email: string, subdomain: string) =>
  (await call("POST", "/api/auth/login", { body: { email, password: demoPassword, subdomain } })).status;

describe("who was taken out", () => {
  it("comes back blocked, heads the department as before, and signs in when an administrator lets them in", async () => {
    const clinic = await openClinic(service, superadmin);
    const { token, subdomain } = clinic;
    const gone = await makeUser(service, token, { role: "admin" });
    const doctor = await makeUser(service, token, { role: "doctor" });
    const ward = await makeDepartment(service, token, { head_doctor_id: doctor.id });
    const theirs = await service.signInAs(gone.email, subdomain);
    const made = await backUp(service, token);
    for (const { id } of [gone, doctor])
      expect((await call("DELETE", `/api/admin/users/${id}`, { token })).status).toBe(204);
    expect((await restore(service, token, made.backup_id)).status).toBe("succeeded");
    for (const { email } of [gone, doctor]) expect(await signInStatus(email, subdomain)).toBe(403);
    expect((await call("GET", "/api/users/me", { token: theirs })).status).toBe(401);
    const { items } = (await call("GET", "/api/admin/departments", { token })).body;
    expect(items).toMatchObject([{ id: ward.id, head_doctor_id: doctor.id }]);
    await call("POST", `/api/admin/users/${gone.id}/unblock`, { token });
    expect(await signInStatus(gone.email, subdomain)).toBe(200);
  });

  it.each([
    ["deleted", "DELETE", ""],
    ["blocked", "POST", "/block"],
    ["an administrator no more", "PUT", "/role"],
  ] as const)(
    "a restore that waits ends without a change when who wanted it is %s meanwhile",
    async (_how, method, action) => {
      const clinic = await openClinic(service, superadmin);
      const rogue = await makeUser(service, clinic.token, { role: "admin" });
      const theirs = await service.signInAs(rogue.email, clinic.subdomain);
      const made = await backUp(service, clinic.token);
      const since = await makePatient(service, clinic.token, "Came Since");
      // The laying out waits here, after everything that could be asked before.
      const barrier = new pg.Client({ connectionString: service.database.url });
      await barrier.connect();
      try {
        await barrier.query("begin");
        await barrier.query("lock table staging.patients in access exclusive mode");
        const body = { backup_id: made.backup_id, confirm: true };
        const begun = await call("POST", "/api/admin/backup/restore", { token: theirs, body });
        await eventually(async () => {
          const [job] = await owner("select step from backup_jobs where id = $1", [begun.body.job_id]);
          return job.step === "laying the archive out";
        });
        const path = `/api/admin/users/${rogue.id}${action}`;
        const role = action === "/role" ? { body: { role: "nurse" } } : {};
        expect((await call(method, path, { token: clinic.token, ...role })).status).toBeLessThan(300);
        await barrier.query("commit");
        const job = await ended(service, clinic.token, begun.body.job_id);
        expect(job).toMatchObject({ status: "failed", error_code: "not_allowed_any_more" });
      } finally {
        await barrier.end();
      }
      expect((await call("GET", `/api/patients/${since.id}`, { token: clinic.token })).status).toBe(200);
      expect(await signInStatus(rogue.email, clinic.subdomain)).toBe(
        { DELETE: 401, POST: 403, PUT: 200 }[method],
      );
    },
  );

  it("a restore that has not begun does not begin for who may not any more", async () => {
    const clinic = await openClinic(service, superadmin);
    const rogue = await makeUser(service, clinic.token, { role: "admin" });
    const made = await backUp(service, clinic.token);
    const [job] = await owner(
      `insert into backup_jobs (id, kind, type, tenant_id, backup_id, reason, safety_backup_id, created_by)
       values (gen_random_uuid(), 'restore', 'tenant', $1, $2, 'manual', $3, $4) returning id`,
      [clinic.id, made.backup_id, `bk_${"3".repeat(32)}`, rogue.id],
    );
    await call("DELETE", `/api/admin/users/${rogue.id}`, { token: clinic.token });
    await owner("select graphile_worker.add_job('backups.run', json_build_object('job_id', $1::uuid))", [
      job.id,
    ]);
    expect(await ended(service, clinic.token, job.id)).toMatchObject({ error_code: "not_allowed_any_more" });
    expect(
      await owner("select from backups where tenant_id = $1 and reason = 'safety'", [clinic.id]),
    ).toEqual([]);
  });
});

describe("who may register", () => {
  it.each([
    [{ registration: "open", a: 1 }, { registration: "closed" }, "closed"],
    [{ registration: "open" }, {}, undefined],
    [{ b: 1 }, { registration: "closed" }, "closed"],
    [{ registration: "closed", a: [1.5, "x"] }, { registration: "closed", a: 2 }, "closed"],
  ])("then %j, now %j: stays as it is now, and the rest comes back", async (then, now, stays) => {
    const clinic = await openClinic(service, superadmin);
    const set = async (settings: object) =>
      expect(
        (await call("PUT", `/api/admin/tenants/${clinic.id}`, { token: clinic.token, body: { settings } }))
          .status,
      ).toBe(200);
    await set(then);
    const made = await backUp(service, clinic.token);
    await set(now);
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
    const { settings } = (await call("GET", `/api/admin/tenants/${clinic.id}`, { token: clinic.token })).body;
    const { registration: _then, ...rest } = then as { registration?: string };
    expect(settings).toEqual({ ...rest, ...(stays === undefined ? {} : { registration: stays }) });
    const plan = await call("POST", "/api/admin/backup/restore", {
      token: clinic.token,
      body: { backup_id: made.backup_id },
    });
    expect(plan.body.plan.tables).toContainEqual({ table: "tenants", add: 0, change: 0, remove: 0 });
  });
});

describe("bounds", () => {
  it("a tenant has so many backups that restores made for safety, and the next restore is refused", async () => {
    const clinic = await openClinic(service, superadmin);
    const made = await backUp(service, clinic.token);
    await owner(
      `insert into backups (id, type, tenant_id, reason, schema_version, key_version, size_bytes, rows, sha256, verified_at, state, created_at)
       select 'bk_' || lpad(to_hex(n), 32, '0'), type, tenant_id, 'safety', schema_version, key_version, size_bytes, rows, sha256,
         verified_at, state, created_at from backups, generate_series(1, 50) n where id = $1`,
      [made.backup_id],
    );
    const body = { backup_id: made.backup_id, confirm: true };
    const answer = await call("POST", "/api/admin/backup/restore", { token: clinic.token, body });
    expect([answer.status, answer.body.code]).toEqual([409, "too_many_backups"]);
    expect(
      await owner("select from backup_jobs where tenant_id = $1 and kind = 'restore'", [clinic.id]),
    ).toEqual([]);
    await owner("delete from backups where id = 'bk_' || lpad('1', 32, '0')");
    expect((await restore(service, clinic.token, made.backup_id)).status).toBe("succeeded");
  });

  it("a tenant begins so many backups and restores a day, beyond it 429, and the day's incident is told", async () => {
    const clinic = await openClinic(service, superadmin);
    const made = await backUp(service, clinic.token);
    const limit = dailyLimits["backups.begun"];
    await owner("update daily_counts set taken = $2 where tenant_id = $1 and kind = 'backups.begun'", [
      clinic.id,
      limit - 1,
    ]);
    await backUp(service, clinic.token);
    for (const [path, body] of [
      ["/api/admin/backup/create", {}],
      ["/api/admin/backup/restore", { backup_id: made.backup_id, confirm: true }],
    ] as const) {
      const answer = await call("POST", path, { token: clinic.token, body });
      expect(answer.status).toBe(429);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    const [count] = await owner(
      "select taken::integer, reached_at is not null as reached from daily_counts where tenant_id = $1 and kind = 'backups.begun'",
      [clinic.id],
    );
    expect(count).toEqual({ taken: limit + 2, reached: true });
    const entries = await call("GET", "/api/admin/audit?action=limit.reach", { token: clinic.token });
    expect(entries.body.items).toMatchObject([{ changes: { limit: "backups.begun", bound: limit } }]);
  });

  it("what is refused for another reason takes nothing of the day", async () => {
    const clinic = await openClinic(service, superadmin);
    const begun = await begin(service, clinic.token);
    const again = await call("POST", "/api/admin/backup/create", { token: clinic.token, body: {} });
    await ended(service, clinic.token, begun.job_id);
    const [{ taken }] = await owner("select taken::integer from daily_counts where tenant_id = $1", [
      clinic.id,
    ]);
    expect(taken).toBe(again.status === 409 ? 1 : 2);
  });
});

describe("plans", () => {
  it("are made one at a time for a tenant; who asks for the same one waits for it, and another tenant has its own", async () => {
    const [clinic, other] = [await openClinic(service, superadmin), await openClinic(service, superadmin)];
    const [first, second] = [await backUp(service, clinic.token), await backUp(service, clinic.token)];
    const theirs = await backUp(service, other.token);
    const ask = (token: string, { backup_id: id }: { backup_id: string }) =>
      call("POST", "/api/admin/backup/restore", { token, body: { backup_id: id } });
    /** A busy machine may need longer than an answer waits. */
    const made = (token: string, backup: { backup_id: string }) =>
      eventually(async () => {
        const { status, body } = await ask(token, backup);
        if (status === 503) expect(body.code).toBe("plan_unfinished");
        else expect([status, body.applied]).toEqual([200, false]);
        return status === 200;
      });
    // The laying out of the first waits here, so it is under way for as long as the test likes.
    const gate = await holdLock(service.database.url, "lock table staging.patients in access exclusive mode");
    const answers: Promise<unknown>[] = [];
    try {
      answers.push(made(clinic.token, first));
      await gate.reached();
      const busy = await ask(clinic.token, second);
      expect([busy.status, busy.body.code, busy.headers.get("retry-after")]).toEqual([503, "busy", "10"]);
      answers.push(made(clinic.token, first), made(other.token, theirs));
    } finally {
      await gate.open();
      await Promise.all(answers);
    }
    await made(clinic.token, second);
  });
});

describe("one tenant's slow readers", () => {
  it("have four downloads at a time; another tenant has its own all the while", async () => {
    const [slow, other] = [await openClinic(service, superadmin), await openClinic(service, superadmin)];
    const made = await bigBackup(slow);
    const theirs = await backUp(service, other.token);
    const open: IncomingMessage[] = [];
    try {
      for (let n = 0; n < 4; n++) open.push(await openDownload(slow.token, made));
      expect(open.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
      const fifth = await openDownload(slow.token, made);
      fifth.resume();
      expect(fifth.statusCode).toBe(503);
      const links = await call("POST", `/api/admin/backup/download-ticket/${made}`, { token: slow.token });
      const byLink = async () => {
        const answer = await fetch(service.url + new URL(links.body.url).pathname);
        await answer.body?.cancel();
        return answer.status;
      };
      // Nothing was handed out, so it is still good: as often as it is busy.
      expect([await byLink(), await byLink()]).toEqual([503, 503]);
      const answer = await openDownload(other.token, theirs.backup_id);
      answer.resume();
      expect(answer.statusCode).toBe(200);
      open.pop()?.destroy();
      await eventually(async () => {
        const status = await byLink();
        expect([200, 503]).toContain(status);
        return status === 200;
      });
      expect(await byLink()).toBe(404);
      const downloads = `/api/admin/audit?action=backup.download`;
      // Four slow ones, and the link's.
      expect((await call("GET", downloads, { token: slow.token })).body.total).toBe(5);
      await eventually(async () => {
        const next = await openDownload(slow.token, made);
        open.push(next);
        return next.statusCode === 200;
      });
    } finally {
      for (const each of open) each.destroy();
    }
  });

  /** Longer than what the buffers on its way hold. */
  async function bigBackup({ id, token }: Clinic): Promise<string> {
    const patient = await makePatient(service, token, "With Much");
    const record = { kind: "note", body: "one" };
    expect((await call("POST", `/api/patients/${patient.id}/records`, { token, body: record })).status).toBe(
      201,
    );
    await owner(
      `insert into patient_records (tenant_id, patient_id, kind, body)
       select tenant_id, patient_id, kind, body || noise from patient_records, generate_series(1, 4000) n,
         lateral (select string_agg(sha512(gen_random_uuid()::text::bytea), '') as noise from generate_series(1, 100)
           where n > 0) x where tenant_id = $1`,
      [id],
    );
    return (await backUp(service, token)).backup_id;
  }

  /** Its head alone: what follows stays where it is until somebody reads. */
  function openDownload(token: string, id: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      get(`${service.url}/api/admin/backup/download/${id}`, { headers, agent: false }, resolve).on(
        "error",
        reject,
      );
    });
  }
});

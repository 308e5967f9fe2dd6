// The life of a fix and its incidents over HTTP: proposed when its fault is met, confirmed by a person, healed, verified.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { catalogue } from "../../../mixins/healing/catalogue.ts";
import { eventually } from "../../support/service.ts";
import { makeClinic, makeUser } from "../../support/tenancy.ts";
import { mailsTo, mailTo } from "../../support/mailbox.ts";
import { miscount, openScene, type Scene } from "./scene.ts";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene?.stop());

const code = "user_counts_differ";
const clinic = () => makeClinic(scene.service, scene.token);
const actual = async (tenantId: number) =>
  scene.sql(
    `select coalesce(c.users, 0) - coalesce(u.users, 0) as difference from
       (select role, is_active, users from user_counts where tenant_id = $1 and users <> 0) c full join
       (select role, is_active, count(*)::integer as users from users where tenant_id = $1 and deleted_at is null group by 1, 2) u
         using (role, is_active) where coalesce(c.users, 0) <> coalesce(u.users, 0)`,
    [tenantId],
  );
const stats = async () => (await scene.get("/stats")).body;

describe("a fault that is met for the first time", () => {
  it("nothing is found, proposed or opened where nothing is wrong", async () => {
    const seen = await scene.look();
    expect(seen).toEqual({
      looked: catalogue.length,
      found: 0,
      opened: 0,
      silent: [],
      unanswered: [],
      left: [],
    });
    expect(await scene.fixes()).toEqual([]);
    expect(await stats()).toMatchObject({
      fixes: 0,
      incidents: 0,
      success_rate: null,
      mean_time_to_repair_s: null,
    });
  });

  it("has its fix proposed, waits with evidence and a dry run, and is healed when a person confirms", async () => {
    const { id: tenantId, token: admin } = await clinic();
    await miscount(scene, tenantId);
    expect(await scene.look()).toMatchObject({ found: 1, opened: 1 });
    const fix = await scene.fixOf(code);
    expect(Object.keys(fix)).toEqual([
      "id",
      "code",
      "title",
      "problem",
      "remedy",
      "risk",
      "status",
      "occurrences",
      "healed",
      "failed",
      "open_incidents",
      "last_detected_at",
      "last_healed_at",
      "confirmed_by",
      "confirmed_at",
      "created_at",
      "suspended_reason",
    ]);
    expect(fix).toMatchObject({
      status: "proposed",
      occurrences: 1,
      healed: 0,
      open_incidents: 1,
      confirmed_by: null,
    });
    // A second look meets the same incident.
    expect(await scene.look()).toMatchObject({ found: 1, opened: 0 });
    const [waiting] = await scene.incidents(code);
    expect(waiting).toMatchObject({
      status: "open",
      target: `tenant:${tenantId}`,
      tenant_id: tenantId,
      tries: 0,
      evidence: { counters: 1, users: 3 },
      would_do: "Would correct 1 counters, which are wrong by 3 users together.",
      next_try_at: null,
      repair_s: null,
      history: [{ step: "detected" }],
    });
    expect(await actual(tenantId)).toHaveLength(1);
    const health = async (token: string) =>
      (await scene.service.call("GET", "/api/admin/health", { token })).body.open_incidents;
    expect([await health(scene.token), await health(admin)]).toEqual([1, 1]);
    expect(await health((await clinic()).token)).toBe(0);
    await mailTo(scene.service, "admin@platform.example", /Counters of users/);

    const confirmed = await scene.confirm(code);
    expect(confirmed).toMatchObject({ status: "confirmed", confirmed_by: expect.any(Number) });
    const healed = await scene.met(code, `tenant:${tenantId}`, "healed");
    expect(await actual(tenantId)).toEqual([]);
    expect(healed.history.map(({ step }) => step)).toEqual(["detected", "trying", "healed"]);
    expect(healed.repair_s).toBeGreaterThan(0);
    expect(await scene.fixOf(code)).toMatchObject({
      occurrences: 1,
      healed: 1,
      failed: 0,
      open_incidents: 0,
    });
    expect(await stats()).toMatchObject({
      fixes: 1,
      by_status: { proposed: 0, confirmed: 1, suspended: 0 },
      incidents: 1,
      open: 0,
      healed: 1,
      failed: 0,
      success_rate: 1,
      mean_time_to_repair_s: healed.repair_s,
    });
    expect(await health(scene.token)).toBe(0);
    const entries = await scene.sql<{ action: string; outcome: string }>(
      "select action, outcome from audit_entries where tenant_id = $1 and action = 'fix.apply'",
      [tenantId],
    );
    expect(entries).toEqual([{ action: "fix.apply", outcome: "ok" }]);
    const events = await scene.sql<{ kind: string; tenant_id: number }>(
      "select kind, tenant_id from events where kind in ('fix.applied', 'incident.opened') order by id",
    );
    const [platform] = await scene.sql<{ id: number }>("select id from tenants where subdomain = 'platform'");
    expect(events).toEqual([
      { kind: "incident.opened", tenant_id: platform?.id },
      { kind: "fix.applied", tenant_id: tenantId },
      { kind: "fix.applied", tenant_id: platform?.id },
    ]);
  });

  it("is healed by itself from then on", async () => {
    const { id: tenantId } = await clinic();
    await miscount(scene, tenantId, -1);
    await scene.look();
    await scene.met(code, `tenant:${tenantId}`, "healed");
    expect(await actual(tenantId)).toEqual([]);
  });

  it("users that come and go meanwhile stay counted", async () => {
    const { id: tenantId, token } = await clinic();
    await miscount(scene, tenantId, 7);
    const coming = Array.from({ length: 12 }, () => makeUser(scene.service, token));
    await scene.look();
    const going = (await Promise.all(coming))
      .slice(0, 6)
      .map(({ id }) => scene.service.call("DELETE", `/api/admin/users/${id}`, { token }));
    await Promise.all(going);
    await scene.met(code, `tenant:${tenantId}`, "healed");
    expect(await actual(tenantId)).toEqual([]);
  });
});

describe("the guards", () => {
  it("twenty confirmations at once have one effect", async () => {
    const { id } = await scene.fixOf(code);
    const { id: tenantId } = await clinic();
    await scene.sql(
      "update fixes set status = 'proposed', confirmed_at = null, confirmed_by = null where id = $1",
      [id],
    );
    await miscount(scene, tenantId);
    await scene.look();
    const confirmations = () =>
      scene.sql("select from audit_entries where action = 'fix.confirm'").then(({ length }) => length);
    const before = await confirmations();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        scene.service.call("POST", `/api/admin/self-healing/confirm/${id}`, { token: scene.token }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await confirmations()).toBe(before + 1);
    const healed = await scene.met(code, `tenant:${tenantId}`, "healed");
    expect(healed.tries).toBe(1);
  });

  it("a target that was mended less than an hour ago waits", async () => {
    const { id: tenantId } = await clinic();
    await miscount(scene, tenantId);
    await scene.look();
    await scene.met(code, `tenant:${tenantId}`, "healed");
    await miscount(scene, tenantId);
    await scene.look();
    const [again] = await scene.incidents(code);
    expect(again).toMatchObject({ status: "open", tries: 0, target: `tenant:${tenantId}` });
    expect(Date.parse(again?.next_try_at ?? "") - Date.now()).toBeGreaterThan(3_500_000);
    await scene.sql("update incidents set next_try_at = now() where id = $1", [again?.id]);
    await scene.met(code, `tenant:${tenantId}`, "healed");
  });

  it("what was found before it was mended, while one look ran, is not opened again", async () => {
    const { id: tenantId } = await clinic();
    const { id } = await scene.fixOf(code);
    // As if its remedy had ended after the look began.
    const [made] = await scene.sql<{ id: string }>(
      `insert into incidents (fix_id, tenant_id, code, service, target, evidence, status, tries, ended_at)
       values ($1, $2, $3, 'users', $4, '{}', 'healed', 1, now() + interval '50 seconds') returning id`,
      [id, tenantId, code, `tenant:${tenantId}`],
    );
    await miscount(scene, tenantId);
    expect(await scene.look()).toMatchObject({ found: 1, opened: 0 });
    await scene.sql(
      // A busy machine takes seconds to begin: it ended well before the look that comes now.
      "update incidents set ended_at = now() - interval '20 seconds', detected_at = now() - interval '1 minute' where id = $1",
      [made?.id],
    );
    expect(await scene.look()).toMatchObject({ found: 1, opened: 1 });
    await scene.sql("update incidents set next_try_at = now() where target = $1 and ended_at is null", [
      `tenant:${tenantId}`,
    ]);
    await scene.met(code, `tenant:${tenantId}`, "healed");
  });

  it("a fault that goes away by itself ends its incident, and nothing is done", async () => {
    const { id: tenantId } = await clinic();
    const { id } = await scene.fixOf(code);
    await scene.sql(
      "update fixes set status = 'proposed', confirmed_at = null, confirmed_by = null where id = $1",
      [id],
    );
    await miscount(scene, tenantId, 2);
    await scene.look();
    await miscount(scene, tenantId, -2);
    const gone = await scene.met(code, `tenant:${tenantId}`, "ended");
    expect(gone.history.map(({ step }) => step)).toEqual(["detected", "ended"]);
    expect(gone).toMatchObject({ tries: 0, repair_s: null });
    await scene.confirm(code);
  });

  it("over 40 % of all targets at once stops healing, tells a person, and goes on when that person confirms", async () => {
    const clinics = await Promise.all(Array.from({ length: 12 }, clinic));
    const [{ tenants } = { tenants: 0 }] = await scene.sql<{ tenants: number }>(
      "select count(*)::integer as tenants from tenants",
    );
    expect(12).toBeGreaterThan(tenants * 0.4);
    for (const { id } of clinics) await miscount(scene, id);
    await scene.look();
    expect(await scene.fixOf(code)).toMatchObject({
      status: "suspended",
      suspended_reason: "mass",
      open_incidents: 12,
    });
    expect(await actual(clinics[0]?.id ?? 0)).toHaveLength(1);
    await eventually(async () => {
      const mails = await mailsTo(scene.service, "admin@platform.example");
      return mails.some(({ text }) => text?.includes("40 %"));
    });
    await scene.look();
    expect(await scene.fixOf(code)).toMatchObject({ status: "suspended", open_incidents: 12 });
    await scene.confirm(code);
    await eventually(async () => (await scene.fixOf(code)).open_incidents === 0);
    for (const { id } of clinics) expect(await actual(id)).toEqual([]);
  });
});

describe("trouble meanwhile", () => {
  it("a look ends in time though a detector does not, names it, and finds what others look for", async () => {
    const { id: tenantId } = await clinic();
    const hanging = new pg.Client({ connectionString: scene.service.database.url });
    await hanging.connect();
    try {
      await hanging.query("begin; lock table payment_notifications in access exclusive mode");
      await miscount(scene, tenantId);
      const seen = await scene.look();
      expect(seen.silent).toContain("payments");
      expect(seen.unanswered).toContainEqual({ code: "payments_unverified", service: "payments" });
      expect(seen.looked + seen.left.length).toBe(catalogue.length);
      await scene.met(code, `tenant:${tenantId}`, "healed");
    } finally {
      await hanging.end();
    }
    expect(await scene.look()).toMatchObject({ found: 0, silent: [], unanswered: [] });
  });

  it("the database's clock goes back by a day: looks, tries and what was mended go on by the new one", async () => {
    const { id: tenantId } = await clinic();
    const target = `tenant:${tenantId}`;
    await miscount(scene, tenantId);
    const { id: before } = await scene.met(code, target, "healed");
    // As a clock leaves it that was a day ahead: the last looks, what was mended, and when what waits is due.
    await scene.sql("update fault_looks set looked_at = now() + interval '1 day'");
    await scene.sql(
      "update incidents set detected_at = now() + interval '1 day', ended_at = now() + interval '1 day' where target = $1",
      [target],
    );
    await miscount(scene, tenantId);
    await scene.sql("select graphile_worker.add_job('self-healing.look', queue_name := 'self-healing.look')");
    // Also without the cooldown, which ends at a moment that the new clock will not come to for long.
    const again = await eventually(async () => {
      const [newest] = await scene.incidents(code);
      return newest?.target === target && newest.id !== before && newest.status === "healed" && newest;
    });
    expect(again.history.map(({ step }) => step)).toEqual(["detected", "trying", "healed"]);
    expect(await actual(tenantId)).toEqual([]);
    const ahead = () => scene.sql("select from fault_looks where looked_at > now()");
    await eventually(async () => (await ahead()).length === 0);
    await scene.sql(
      "update incidents set detected_at = now(), ended_at = now() where target = $1 and ended_at > now()",
      [target],
    );
  });

  it.each(["open", "healing"])(
    "an incident that is %s until tomorrow's clock is not waited for",
    async (status) => {
      const { id: tenantId } = await clinic();
      const { id } = await scene.fixOf(code);
      await miscount(scene, tenantId);
      await scene.sql(
        `insert into incidents (fix_id, tenant_id, code, service, target, evidence, status, tries, tried_at, next_try_at)
       values ($1, $2, $3, 'users', $4, '{}', $5, 1, now() + interval '1 day', now() + interval '1 day')`,
        [id, tenantId, code, `tenant:${tenantId}`, status],
      );
      await scene.met(code, `tenant:${tenantId}`, "healed");
    },
  );

  it("a fix that is deleted while it is applied leaves no incident behind that nobody goes on with", async () => {
    const { id: tenantId } = await clinic();
    const { id } = await scene.fixOf(code);
    const target = `tenant:${tenantId}`;
    // As a process leaves it that died over its try, after its fix was deleted.
    const [made] = await scene.sql<{ id: string }>(
      `with off as (insert into fixes (code, title, problem, risk, seeded_hash, deleted_at)
         select 'gone_fault', title, problem, risk, seeded_hash, now() from fixes where id = $1 returning id)
       insert into incidents (fix_id, tenant_id, code, service, target, evidence, status, tries, tried_at)
       select id, $2, 'gone_fault', 'users', $3, '{}', 'healing', 1, now() - interval '4 minutes' from off returning id`,
      [id, tenantId, target],
    );
    await scene.look();
    const [left] = await scene.sql(
      "select status, ended_at is not null as ended from incidents where id = $1",
      [made?.id],
    );
    expect(left).toEqual({ status: "dismissed", ended: true });
    await scene.sql("delete from incidents where id = $1", [made?.id]);
    await scene.sql("delete from fixes where code = 'gone_fault'");
  });
});

describe("a remedy that does not help", () => {
  it("is tried five times, then a person is told; more than five failures of ten stop the fix", async () => {
    const [one, other] = [await clinic(), await clinic()];
    // Whoever corrects the counter is undone.
    await scene.sql(`create function undo() returns trigger language plpgsql as $$ begin
        new.users := old.users; return new; end $$;
      create trigger undo before update on user_counts for each row
        when (old.tenant_id in (${one.id}, ${other.id})) execute function undo()`);
    await scene.sql("alter table user_counts disable trigger undo");
    await miscount(scene, one.id);
    await scene.sql("alter table user_counts enable trigger undo");
    await scene.look();
    for (let tries = 1; tries <= 5; tries++) {
      const tried = await eventually(async () => {
        const [incident] = await scene.incidents(code);
        return incident?.tries === tries && incident.status !== "healing" ? incident : undefined;
      });
      expect(tried.status).toBe(tries < 5 ? "open" : "failed");
      await scene.sql("update incidents set next_try_at = now() where id = $1", [tried.id]);
      await scene.look();
    }
    const [failed] = await scene.incidents(code);
    expect(failed).toMatchObject({ status: "failed", tries: 5, ended_at: null });
    expect(await scene.fixOf(code)).toMatchObject({ status: "confirmed", failed: 1, open_incidents: 1 });
    expect(await stats()).toMatchObject({ failed: 1 });
    const [entry] = await scene.sql(
      "select outcome from audit_entries where action = 'fix.apply' and tenant_id = $1",
      [one.id],
    );
    expect(entry).toEqual({ outcome: "error" });
    expect(
      await scene.sql("select from events where kind = 'fix.failed' and tenant_id = $1", [one.id]),
    ).toHaveLength(1);

    await scene.sql("alter table user_counts disable trigger undo");
    await miscount(scene, other.id);
    await scene.sql("alter table user_counts enable trigger undo");
    await scene.look();
    await eventually(async () => (await scene.fixOf(code)).status === "suspended");
    expect(await scene.fixOf(code)).toMatchObject({ suspended_reason: "failures", open_incidents: 2 });
    await scene.sql("drop trigger undo on user_counts; drop function undo");
    // Confirmed again: what had failed has its tries again.
    await scene.confirm(code);
    const mended = await scene.met(code, `tenant:${one.id}`, "healed");
    expect(mended.history.map(({ step }) => step)).toContain("reopened");
    await scene.met(code, `tenant:${other.id}`, "healed");
  });

  it("a failed incident ends when its fault is not found any more", async () => {
    const { id: tenantId } = await clinic();
    const { id } = await scene.fixOf(code);
    const [made] = await scene.sql<{ id: string }>(
      `insert into incidents (fix_id, tenant_id, code, service, target, evidence, status, tries)
       values ($1, $2, $3, 'users', $4, '{}', 'failed', 5) returning id`,
      [id, tenantId, code, `tenant:${tenantId}`],
    );
    await scene.look();
    const [incident] = await scene.sql(
      "select status, ended_at is not null as ended from incidents where id = $1",
      [made?.id],
    );
    expect(incident).toEqual({ status: "failed", ended: true });
  });
});

describe("the catalogue", () => {
  it("is seeded by code; what was confirmed or edited stays unless overwritten", async () => {
    const seed = async (query = "") =>
      (await scene.service.call("POST", `/api/admin/self-healing/seed-fixes${query}`, { token: scene.token }))
        .body;
    const total = catalogue.length;
    expect(await seed()).toEqual({ created: total - 1, updated: 0, skipped: 1, total });
    expect(await seed()).toEqual({ created: 0, updated: 0, skipped: total, total });
    expect(await scene.fixOf(code)).toMatchObject({ status: "confirmed" });
    await scene.sql("update fixes set title = 'Ours', risk = 'high' where code = $1", [code]);
    expect(await seed("?overwrite=false")).toEqual({ created: 0, updated: 0, skipped: total, total });
    expect(await scene.fixOf(code)).toMatchObject({ title: "Ours", risk: "high", status: "confirmed" });
    // An older version of the catalogue, that nobody edited.
    await scene.sql("update fixes set title = 'Old' where code = 'job_gave_up'");
    await scene.sql("update fixes set seeded_hash = $1 where code = 'job_gave_up'", [
      await oldHash("job_gave_up"),
    ]);
    expect(await seed()).toEqual({ created: 0, updated: 1, skipped: total - 1, total });
    expect((await scene.fixOf("job_gave_up"))["title"]).toBe("A job that failed too often");
    expect(await seed("?overwrite=true")).toEqual({ created: 0, updated: total, skipped: 0, total });
    expect(await scene.fixOf(code)).toMatchObject({
      status: "proposed",
      confirmed_by: null,
      confirmed_at: null,
    });
    expect((await scene.fixOf(code))["title"]).not.toBe("Ours");
  });

  it("a deleted fix is not there, its fault is not looked for, and seeding brings it back", async () => {
    const { id } = await scene.fixOf(code);
    const { id: tenantId } = await clinic();
    await miscount(scene, tenantId);
    await scene.look();
    const remove = () =>
      scene.service.call("DELETE", `/api/admin/self-healing/fixes/${id}`, { token: scene.token });
    expect((await remove()).status).toBe(204);
    expect(await remove()).toMatchObject({ status: 404, body: { code: "not_found" } });
    expect((await scene.incidents(code))[0]).toMatchObject({
      status: "dismissed",
      target: `tenant:${tenantId}`,
    });
    expect(await scene.look()).toMatchObject({ looked: catalogue.length - 1, found: 0 });
    const { body } = await scene.service.call("POST", "/api/admin/self-healing/seed-fixes", {
      token: scene.token,
    });
    expect(body).toMatchObject({ created: 1 });
    expect((await scene.fixOf(code)).id).not.toBe(id);
    expect(await scene.look()).toMatchObject({ found: 1, opened: 1 });
    await scene.confirm(code);
    await scene.met(code, `tenant:${tenantId}`, "healed");
  });

  it("a fault without a remedy cannot be confirmed", async () => {
    const fix = (await scene.fixes()).find(({ remedy }) => remedy === null);
    if (fix === undefined) throw new Error("every fault has a remedy");
    const answer = await scene.service.call("POST", `/api/admin/self-healing/confirm/${fix.id}`, {
      token: scene.token,
    });
    expect(answer).toMatchObject({ status: 409, body: { code: "no_remedy" } });
  });

  it("what is old goes: incidents after 90 days, and fixes that were deleted and seeded again", async () => {
    await scene.sql(
      "update incidents set ended_at = now() - interval '91 days', detected_at = now() - interval '92 days' where ended_at is not null",
    );
    await scene.sql("select graphile_worker.add_job('self-healing.sweep')");
    await eventually(
      async () => (await scene.sql("select from incidents where ended_at is not null")).length === 0,
    );
    expect(
      await scene.sql(
        "select from incident_steps s where not exists (select from incidents i where i.id = s.incident_id)",
      ),
    ).toEqual([]);
    await eventually(
      async () => (await scene.sql("select from fixes where deleted_at is not null")).length === 0,
    );
  });
});

describe("404 and 422", () => {
  it.each(["2147483647", "0", "-1", "99999999999999999999"])("no fix %s", async (id) => {
    for (const [method, way] of [
      ["POST", "confirm"],
      ["DELETE", "fixes"],
    ] as const)
      expect(
        await scene.service.call(method, `/api/admin/self-healing/${way}/${id}`, { token: scene.token }),
      ).toMatchObject({
        status: 404,
        body: { code: "not_found" },
      });
  });

  it("says all that is wrong with a query", async () => {
    const { status, body } = await scene.get("/incidents?status=lost&code=none&limit=0&sort_by=tries");
    expect(status).toBe(422);
    expect(body.detail.map(({ loc }: { loc: string[] }) => loc.join("."))).toEqual([
      "query.status",
      "query.code",
      "query.limit",
      "query.sort_by",
    ]);
    const answer = await scene.service.call("POST", "/api/admin/self-healing/seed-fixes?overwrite=maybe", {
      token: scene.token,
    });
    expect(answer).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ["query", "overwrite"], type: "bool_parsing" }] },
    });
  });
});

/** As the service makes it of a fix's texts. */
async function oldHash(of: string): Promise<Buffer> {
  const { hashOf } = await import("../../../services/self-healing/fix-row.ts");
  const [row] = await scene.sql<{ title: string; problem: string; remedy: string | null; risk: "low" }>(
    "select title, problem, remedy, risk from fixes where code = $1",
    [of],
  );
  if (row === undefined) throw new Error(`no fix ${of}`);
  return hashOf(row);
}

describe("more than a look can name", () => {
  it("stops healing too, whatever share of all it is", async () => {
    const { id: tenantId, admin } = await makeClinic(scene.service, scene.token);
    const gone = await makeUser(scene.service, scene.token, { tenant_id: tenantId, role: "head_doctor" });
    await scene.sql("update users set deleted_at = now(), is_active = false where id = $1", [gone.id]);
    const made = (count: number, head: number, name: string) =>
      scene.sql(
        `insert into departments (tenant_id, name, head_doctor_id)
         select $1::integer, $3 || n, $2::integer from generate_series(1, $4::integer) n`,
        [tenantId, head, name, count],
      );
    await made(400, admin.id, "Led ");
    await scene.service.call("POST", "/api/admin/self-healing/seed-fixes", { token: scene.token });
    await scene.confirm("department_head_gone");
    await made(101, gone.id, "Headless ");
    await scene.look();
    const stopped = { status: "suspended", suspended_reason: "mass", open_incidents: 100 };
    expect(await scene.fixOf("department_head_gone")).toMatchObject(stopped);
    const [row] = await scene.sql<{ headless: number }>(
      "select count(*)::integer as headless from departments where head_doctor_id = $1",
      [gone.id],
    );
    expect(row?.headless).toBe(101);
  });
});

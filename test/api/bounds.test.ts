// What may be made, and done over and over, only so often: each bound just below, at and beyond it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { dailyLimits } from "../../services/shared/limits/daily-limit.ts";
import { traceOf } from "../support/journal.ts";
import { type Answer, eventually, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser, unique } from "../support/tenancy.ts";

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
beforeAll(async () => {
  service = await startService();
  superadmin = await service.signIn("superadmin");
});
afterAll(() => service.stop());
beforeEach(async () => {
  clinic = await makeClinic(service, superadmin);
});

const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
  service.call(method, path, { token: clinic.token, ...(body === undefined ? {} : { body }) });
const sql = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;
const setTaken = (kind: string, taken: number) =>
  sql("update daily_counts set taken = $3 where tenant_id = $1 and kind = $2", [clinic.id, kind, taken]);
/** Of a rate that is counted in the database: how much of it is used up. */
const setPoints = (rate: string, key: string | number, points: number) =>
  sql("update rate_limits set points = $2 where key = $1", [`${rate}:${key}`, points]);

function expectRefusal({ status, body, headers }: Answer, secondsMax: number): void {
  expect([status, body.code]).toEqual([429, "too_many_requests"]);
  expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(Number(headers.get("retry-after"))).toBeLessThanOrEqual(secondsMax);
}

const newWebhook = () =>
  call("POST", "/api/webhooks/register", { url: "https://93.184.215.14/hook", events: ["user.created"] });

describe("sessions", () => {
  it("an account has a hundred: who signs in once more ends the oldest, and that is on record", async () => {
    const { id, email } = await makeUser(service, clinic.token);
    const signIn = () => service.signInAs(email, clinic.subdomain);
    const works = async (token: string) =>
      (await service.call("GET", "/api/users/me", { token })).status === 200;
    const oldest = await signIn();
    await sql(
      `insert into sessions (id, tenant_id, user_id, user_epoch, tenant_epoch, expires_at, ended_at)
       select gen_random_uuid(), tenant_id, user_id, user_epoch, tenant_epoch, expires_at,
         case when nth <= 3 then now() end from sessions, generate_series(1, 100) nth where user_id = $1`,
      [id],
    );
    const rows = async () =>
      (await sql("select count(*)::integer as n from sessions where user_id = $1", [id]))[0].n;
    // What is over goes first: 98 live, and 3 that have ended; then 99, then 100.
    for (let live = 99; live <= 100; live++) {
      const { entries } = await traceOf(service, signIn);
      expect(entries.map(({ action }) => action)).toEqual(["auth.login"]);
      expect(await rows()).toBe(100);
      expect(await works(oldest)).toBe(true);
    }
    const { entries } = await traceOf(service, signIn);
    expect(entries).toMatchObject([
      { action: "auth.login" },
      { action: "auth.end_oldest", target_id: String(id), user_id: id, changes: { sessions: 1 } },
    ]);
    expect(await rows()).toBe(100);
    expect(await works(oldest)).toBe(false);
    expect(await works(await signIn())).toBe(true);
  });
});

describe("departments", () => {
  it("a tenant has 2 000", async () => {
    await sql("insert into departments (tenant_id, name) select $1, 'Ward' from generate_series(1, 1998)", [
      clinic.id,
    ]);
    const make = () => call("POST", "/api/admin/departments", { name: unique("Ward ") });
    expect((await make()).status).toBe(201);
    const last = await make();
    expect(last.status).toBe(201);
    expect(await make()).toMatchObject({ status: 409, body: { code: "too_many_departments" } });
    expect((await call("DELETE", `/api/admin/departments/${last.body.id}`)).status).toBe(204);
    // Of many at once one finds room.
    const statuses = (await Promise.all(Array.from({ length: 10 }, make))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
  });
});

describe("webhooks", () => {
  it("a tenant registers so many a day, also when it deletes them again", async () => {
    const limit = dailyLimits["webhooks.registered"];
    const made = await newWebhook();
    await setTaken("webhooks.registered", limit - 2);
    for (const hook of [await newWebhook(), await newWebhook()]) {
      expect(hook.status).toBe(201);
      expect((await call("DELETE", `/api/webhooks/${hook.body.id}`)).status).toBe(204);
    }
    const { entries } = await traceOf(service, async () => {
      expectRefusal(await newWebhook(), 86_400);
      expectRefusal(await newWebhook(), 86_400);
    });
    expect(entries).toMatchObject([{ action: "limit.reach", changes: { limit: "webhooks.registered" } }]);
    expect((await call("GET", "/api/webhooks")).body).toMatchObject([{ id: made.body.id }]);
  });

  it("a tenant sends so many deliveries again a day", async () => {
    const limit = dailyLimits["webhooks.resent"];
    const { id } = (await newWebhook()).body;
    await sql(
      `insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at, state, finished_at)
       values ($1, $2, 1, 1, 'user.created', '{}', now(), now(), 'failed', now())`,
      [clinic.id, id],
    );
    const { items } = (await call("GET", `/api/webhooks/${id}/deliveries`)).body;
    const resend = () => call("POST", `/api/webhooks/${id}/deliveries/${items[0].id}/resend`);
    expect((await resend()).status).toBe(202);
    await setTaken("webhooks.resent", limit - 2);
    expect((await resend()).status).toBe(202);
    expect((await resend()).status).toBe(202);
    expectRefusal(await resend(), 86_400);
  });

  it("a tenant recovers thirty times an hour", async () => {
    const { id } = (await newWebhook()).body;
    const since = new Date(Date.now() - 60_000).toISOString();
    const recover = () => call("POST", `/api/webhooks/${id}/recover`, { since });
    expect((await recover()).status).toBe(202);
    await setPoints("webhook_recover", clinic.id, 28);
    expect((await recover()).status).toBe(202);
    expect((await recover()).status).toBe(202);
    expectRefusal(await recover(), 3_600);
  });

  it("what was deleted is swept, however much it is", async () => {
    await sql(
      `insert into delivery_targets (tenant_id, channel, events, is_active, deleted_at)
       select $1, 'webhook', '{*}', false, now() from generate_series(1, 1200)`,
      [clinic.id],
    );
    await sql("select graphile_worker.add_job('webhooks.sweep')");
    await eventually(async () => {
      const [left] = await sql("select count(*)::integer as n from delivery_targets where tenant_id = $1", [
        clinic.id,
      ]);
      return left.n === 0;
    });
  });
});

describe("preferences", () => {
  it("a user changes them 600 times an hour; reading them is no change", async () => {
    const change = () => call("PUT", "/api/preferences/theme", { theme: "dark" });
    expect((await change()).status).toBe(200);
    await setPoints("preferences", clinic.admin.id, 598);
    expect((await change()).status).toBe(200);
    expect((await call("PUT", "/api/preferences", { settings: { rows: 20 } })).status).toBe(200);
    expectRefusal(await change(), 3_600);
    expectRefusal(await call("PUT", "/api/preferences", { settings: { rows: 30 } }), 3_600);
    expect((await call("GET", "/api/preferences")).body).toMatchObject({
      theme: "dark",
      settings: { rows: 20 },
    });
    expect((await call("PUT", "/api/preferences", {})).status).toBe(200);
  });
});

describe("a tenant's audit log", () => {
  const measure = async () => {
    const [job] = await sql("select id from graphile_worker.add_job('audit.measure')");
    await eventually(
      async () => (await sql("select from graphile_worker.jobs where id = $1", [job.id])).length === 0,
    );
  };
  /** As if so many had been written today; the chain behind is the owner's own affair. */
  const setGrowth = (entries: number) =>
    sql(
      `update audit_heads h set seq = $2 - 1 + (select min(seq) from audit_entries e where e.tenant_id = h.tenant_id
         and e.created_at >= (now() at time zone 'utc')::date::timestamp at time zone 'utc') where tenant_id = $1`,
      [clinic.id, entries],
    );
  const incidents = async () => (await call("GET", "/api/admin/health")).body.open_incidents;

  it("that grows by more than a million entries a day is an incident, said once, and nothing is refused", async () => {
    for (const entries of [999_999, 1_000_000]) {
      await setGrowth(entries);
      await measure();
      expect(await incidents()).toBe(0);
    }
    await setGrowth(1_000_001);
    const { entries } = await traceOf(service, async () => {
      await measure();
      await measure();
    });
    expect(entries.filter(({ tenant_id: id }) => id === clinic.id)).toMatchObject([
      { action: "limit.reach", outcome: "error", changes: { limit: "audit.entries", bound: 1_000_000 } },
    ]);
    expect(await incidents()).toBe(1);
    await service.process.printed(new RegExp(`"tenantId":${clinic.id},"limit":"audit.entries"`));
    expect((await call("POST", "/api/admin/departments", { name: "Still here" })).status).toBe(201);
  });
});

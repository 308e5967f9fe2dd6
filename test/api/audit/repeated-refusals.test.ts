// What is refused again and again: the first is an entry at once, the rest one entry that says how often; and a tenant's
// log takes so many such entries a day.
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { dailyLimits } from "../../../services/shared/limits/daily-limit.ts";
import { memberLimit, memberRefusalsMax } from "../../../services/shared/limits/refusal-entries.ts";
import { type Entry, traceOf } from "../../support/journal.ts";
import { endRepeats, repeatsOf, sumUp } from "../../support/repeats.ts";
import {
  addressOf,
  callApi,
  eventually,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";
import { makeClinic, makeUser } from "../../support/tenancy.ts";

const limit = dailyLimits["audit.refusals"];

let service: TestService;
let superadmin: string;
let clinic: Awaited<ReturnType<typeof makeClinic>>;
let nurse: { id: number; token: string };

beforeAll(async () => {
  service = await startService({ TRUST_PROXY: "127.0.0.1" });
  superadmin = await service.signIn("superadmin");
});
afterAll(() => service.stop());
beforeEach(async () => {
  clinic = await makeClinic(service, superadmin);
  nurse = await newNurse();
});

async function newNurse() {
  const { id, email } = await makeUser(service, clinic.token);
  return { id, token: await service.signInAs(email, clinic.subdomain) };
}

/** A call that is refused. */
async function refused(token = nurse.token, path = "/api/admin/users/7/block", from = "203.0.113.1") {
  const headers = { "x-forwarded-for": from };
  const answer = await service.call("POST", path, { token, headers });
  expect([answer.status, answer.body.code]).toEqual([403, "forbidden"]);
}

const entriesOf = async (work: () => Promise<unknown>): Promise<Entry[]> =>
  (await traceOf(service, work, "kept")).entries.filter(({ tenant_id: id }) => id === clinic.id);
const many = (times: number, work: (nth: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: times }, (_, nth) => work(nth)));
const verified = async () =>
  (await service.call("GET", "/api/admin/audit/verify", { token: clinic.token })).body;
const incidentsSeenBy = async (token: string): Promise<number> =>
  (await service.call("GET", "/api/admin/health", { token })).body.open_incidents;
const countOfToday = async (): Promise<{ taken: number; bound: number }> => {
  const { rows } = await service.database.owner.query(
    "select taken::integer, bound::integer from daily_counts where tenant_id = $1 and kind = 'audit.refusals'",
    [clinic.id],
  );
  expect(rows).toHaveLength(1);
  return rows[0];
};
const setTaken = (taken: number) =>
  service.database.owner.query(
    "update daily_counts set taken = $2 where tenant_id = $1 and kind = 'audit.refusals'",
    [clinic.id, taken],
  );

describe("a user who is refused 488 times", () => {
  it("leaves one entry at once, and one that says 487", async () => {
    const before = await entriesOf(async () => {
      await refused();
      await many(487, (nth) => refused(nurse.token, `/api/admin/users/${nth + 8}/block`));
    });
    expect(before).toMatchObject([
      { action: "user.block", outcome: "denied", user_id: nurse.id, target_id: "7", ip: "203.0.113.1" },
    ]);
    expect(before[0]?.changes).toEqual({ code: "forbidden" });
    expect(await repeatsOf(service, clinic.id, "user.block")).toEqual([487]);

    const [sum, ...others] = await entriesOf(() => endRepeats(service));
    expect(others).toEqual([]);
    expect(sum).toMatchObject({
      action: "user.block",
      outcome: "denied",
      user_id: nurse.id,
      ip: "203.0.113.1",
      // They were about many users.
      target_id: null,
      changes: { code: "forbidden", times: 487 },
    });
    const { first_at: first, last_at: last } = (sum?.changes ?? {}) as Record<string, string>;
    expect(Date.parse(first ?? "")).toBeLessThanOrEqual(Date.parse(last ?? ""));
    expect(Math.abs(Date.now() - Date.parse(last ?? ""))).toBeLessThan(60_000);
    expect(await verified()).toMatchObject({ ok: true });
  });

  it("is counted on for twice as long, up to six hours, and forgotten when it is over", async () => {
    await refused();
    const seconds: number[] = [];
    for (let round = 0; round < 6; round++) {
      await refused();
      expect(await entriesOf(() => endRepeats(service))).toMatchObject([{ changes: { times: 1 } }]);
      const { rows } = await service.database.owner.query(
        `select seconds, times, round(extract(epoch from ends_at - now()))::integer as left from audit_repeats
         where tenant_id = $1`,
        [clinic.id],
      );
      expect(rows).toEqual([{ seconds: rows[0].seconds, times: 0, left: expect.any(Number) }]);
      expect(Math.abs(rows[0].left - rows[0].seconds)).toBeLessThan(30);
      seconds.push(rows[0].seconds);
    }
    expect(seconds).toEqual([1800, 3600, 7200, 14_400, 21_600, 21_600]);
    // Nothing has come since: there is nothing to say, and what comes next is the first again.
    expect(await entriesOf(() => endRepeats(service))).toEqual([]);
    expect(await repeatsOf(service, clinic.id, "user.block")).toEqual([]);
    expect(await entriesOf(() => refused())).toMatchObject([{ changes: { code: "forbidden" } }]);
  });

  it("a sum about one target alone names it", async () => {
    await many(3, () => refused());
    expect(await entriesOf(() => endRepeats(service))).toMatchObject([
      { target_type: "user", target_id: "7", changes: { times: 2 } },
    ]);
  });
});

describe("told apart", () => {
  it("are users, actions, reasons and origins; a network of IPv6 is one origin", async () => {
    const other = await newNurse();
    const entries = await entriesOf(async () => {
      await refused();
      await refused(other.token);
      await refused(nurse.token, "/api/admin/users/7/unblock");
      await refused(nurse.token, undefined, "203.0.113.2");
      await refused(nurse.token, undefined, "2001:db8::1");
      await refused(nurse.token, undefined, "2001:db8::2");
      const named = { token: clinic.token, body: { name: "x", tenant_id: 1 } };
      expect((await service.call("POST", "/api/admin/departments", named)).body.code).toBe("foreign_tenant");
    });
    expect(entries.map(({ user_id: user, action, ip }) => [user, action, ip])).toEqual([
      [nurse.id, "user.block", "203.0.113.1"],
      [other.id, "user.block", "203.0.113.1"],
      [nurse.id, "user.unblock", "203.0.113.1"],
      [nurse.id, "user.block", "203.0.113.2"],
      [nurse.id, "user.block", "2001:db8::1"],
      [clinic.admin.id, "department.create", "127.0.0.1"],
    ]);
  });
});

describe("processes", () => {
  it("count together, and what was counted outlives one that is killed", async () => {
    const settings = { ...service.settings, DATA_DIR: join(service.database.folder, "killed") };
    const killed: RunningProcess = runProcess(settings);
    const url = await addressOf(killed);
    const headers = { "x-forwarded-for": "203.0.113.1" };
    const block = (at: string) =>
      callApi(at, "POST", "/api/admin/users/7/block", { token: nurse.token, headers });
    const entries = await entriesOf(() => many(20, (nth) => block(nth % 2 === 0 ? url : service.url)));
    expect(entries).toHaveLength(1);
    await killed.stop("SIGKILL");
    expect(await entriesOf(() => endRepeats(service))).toMatchObject([{ changes: { times: 19 } }]);
  });
});

describe("a tenant's day", () => {
  it("takes so many entries: beyond them refusals are only counted, and an incident is open", async () => {
    await refused();
    const nextAddress = (
      (n) => () =>
        `198.51.100.${++n}`
    )(0);
    const another = () => refused(nurse.token, undefined, nextAddress());
    const quiet = await makeClinic(service, superadmin);
    const before = await incidentsSeenBy(superadmin);
    await setTaken(limit - 2);
    expect(await entriesOf(another)).toMatchObject([{ action: "user.block" }]);
    expect(await entriesOf(another)).toMatchObject([{ action: "user.block" }]);
    expect(await countOfToday()).toEqual({ taken: limit, bound: limit });
    expect(await incidentsSeenBy(clinic.token)).toBe(0);
    // One more: said once, in the log of the tenant and of the process.
    const [reached, ...more] = await entriesOf(async () => {
      await another();
      await another();
      await refused();
    });
    expect(more).toEqual([]);
    expect(reached).toMatchObject({ action: "limit.reach", outcome: "error" });
    expect(reached?.changes).toEqual({
      limit: "audit.refusals",
      bound: limit,
      day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
    expect(await countOfToday()).toEqual({ taken: limit + 2, bound: limit });
    const line = new RegExp(`.*"tenantId":${clinic.id},"limit".*`, "g");
    const [said = ""] = await service.process.printed(line);
    expect(JSON.parse(said)).toMatchObject({ level: "error", limit: "audit.refusals", bound: limit });
    expect(service.process.output().match(line)).toHaveLength(1);
    expect(await incidentsSeenBy(clinic.token)).toBe(1);
    expect(await incidentsSeenBy(quiet.token)).toBe(0);
    expect(await incidentsSeenBy(superadmin)).toBe(before + 1);
    // The rows are as bounded as the entries.
    expect((await repeatsOf(service, clinic.id, "user.block")).length).toBeLessThanOrEqual(4);
    // What was counted before goes on being counted, but is left out too.
    expect(await entriesOf(() => endRepeats(service))).toEqual([]);
    expect(await countOfToday()).toEqual({ taken: limit + 3, bound: limit });
    // Another tenant's log is not concerned.
    const { email } = await makeUser(service, quiet.token);
    const theirs = await service.signInAs(email, quiet.subdomain);
    const { entries } = await traceOf(service, () => refused(theirs));
    expect(entries).toMatchObject([{ tenant_id: quiet.id, action: "user.block" }]);
  });

  it("takes so many of one member: beyond them theirs are only counted, and another's are entries as before", async () => {
    const other = await newNurse();
    const nextAddress = (
      (n) => () =>
        `198.51.100.${++n}`
    )(0);
    const another = (token: string) => refused(token, undefined, nextAddress());
    await refused();
    // As many as were taken before it, so that the next is the last that fits.
    const { rowCount } = await service.database.owner.query(
      "update rate_limits set points = $2 where key like $1",
      [`${memberLimit}:${nurse.id}:%`, memberRefusalsMax - 1],
    );
    expect(rowCount).toBe(1);
    expect(await entriesOf(() => another(nurse.token))).toMatchObject([{ action: "user.block" }]);
    expect(await incidentsSeenBy(clinic.token)).toBe(0);
    const before = await countOfToday();
    const [reached, ...more] = await entriesOf(async () => {
      for (let n = 0; n < 4; n++) await another(nurse.token);
      await refused();
    });
    expect(more).toEqual([]);
    expect(reached).toMatchObject({
      action: "limit.reach",
      target_type: "user",
      target_id: String(nurse.id),
    });
    expect(reached?.changes).toMatchObject({ limit: memberLimit, bound: memberRefusalsMax });
    // Nothing of the tenant's bound was taken, and the rows are as bounded as the entries.
    expect(await countOfToday()).toEqual(before);
    expect((await repeatsOf(service, clinic.id, "user.block")).length).toBe(2);
    expect(await incidentsSeenBy(clinic.token)).toBe(1);
    expect(await entriesOf(() => another(other.token))).toMatchObject([{ user_id: other.id }]);
    // A sum is an entry of theirs too: the one repetition is left out with the four.
    expect(await entriesOf(() => endRepeats(service))).toEqual([]);
    await service.database.owner.query("update daily_counts set day = day - 1 where tenant_id = $1", [
      clinic.id,
    ]);
    const [told, ...others] = await entriesOf(() => sumUp(service));
    expect(others).toEqual([]);
    expect(told).toMatchObject({ action: "limit.exceed", outcome: "error" });
    expect(told?.changes).toMatchObject({ limit: memberLimit, bound: memberRefusalsMax, times: 5 });
    expect(await verified()).toMatchObject({ ok: true });
  });

  it("that is over says how many were left out, once; and the next one begins anew", async () => {
    await refused();
    await setTaken(limit);
    await many(5, (nth) => refused(nurse.token, undefined, `192.0.2.${nth}`));
    expect((await countOfToday()).taken).toBe(limit + 5);
    await service.database.owner.query("update daily_counts set day = day - 1 where tenant_id = $1", [
      clinic.id,
    ]);
    const told = await entriesOf(async () => {
      await sumUp(service);
      await sumUp(service);
    });
    expect(told).toMatchObject([{ action: "limit.exceed", outcome: "error", user_id: null }]);
    expect(told[0]?.changes).toMatchObject({ limit: "audit.refusals", bound: limit, times: 5 });
    expect(await incidentsSeenBy(clinic.token)).toBe(1);
    expect(await entriesOf(() => refused(nurse.token, undefined, "192.0.2.99"))).toHaveLength(1);
    expect(await verified()).toMatchObject({ ok: true });
    await service.database.owner.query("update daily_counts set day = day - 100 where tenant_id = $1", [
      clinic.id,
    ]);
    expect(await incidentsSeenBy(clinic.token)).toBe(0);
    await sumUp(service);
    await eventually(async () => {
      const { rows } = await service.database.owner.query("select from daily_counts where tenant_id = $1", [
        clinic.id,
      ]);
      return rows.length === 0;
    });
  });
});

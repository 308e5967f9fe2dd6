// No reading shows less than what was acknowledged before it began, however many read and write at once. The checker is
// first shown to see it when that is broken: without its stamps the database vouches for outdated values.
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Caller, type History, playHistory } from "../support/freshness.ts";
import { type Answer, startService, type TestService } from "../support/service.ts";
import { makeClinic, makeUser, unique } from "../support/tenancy.ts";

const playMs = 3_000;
let service: TestService;
let token: string;
let admin: string;
let patientIds: number[];

beforeAll(async () => {
  service = await startService();
  const superadmin = await service.signIn("superadmin");
  const clinic = await makeClinic(service, superadmin);
  const { email } = await makeUser(service, clinic.token, { can_see_all_patients: true });
  admin = clinic.token;
  token = await service.signInAs(email, clinic.subdomain);
});
afterAll(() => service.stop());

async function freshPatients(): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < 6; n++) {
    const body = { record_number: unique("R-"), full_name: "Some Body", notes: "at first" };
    ids.push((await service.call("POST", "/api/patients", { token, body })).body.id);
  }
  return ids;
}

async function play(
  more: () => Promise<unknown> = async () => {},
  caller: Caller = (...asked) => service.call(...asked),
): Promise<History> {
  const ending = new AbortController();
  const roll = (below: number) => Math.floor(Math.random() * below);
  const history = playHistory({ callers: [caller], token, patientIds, readers: 8, roll }, ending.signal);
  const until = performance.now() + playMs;
  while (performance.now() < until) {
    await more();
    await delay(20);
  }
  ending.abort();
  return history;
}

const kinds = [/version \d+ after \d+/, /acknowledged records/];

describe("the checker", () => {
  it("sees outdated patients and missing records, where answers are remembered for ever", async () => {
    patientIds = await freshPatients();
    const first = new Map<string, Answer>();
    const { violations } = await play(undefined, async (method, path, options) => {
      if (method !== "GET") return service.call(method, path, options);
      // As long as an answer takes at least: what was remembered would leave nobody else a turn.
      await delay(1);
      const answer = first.get(path) ?? (await service.call(method, path, options));
      if (answer.status === 200) first.set(path, answer);
      return answer;
    });
    expect(kinds.filter((kind) => !violations.some((each) => kind.test(each)))).toEqual([]);
  });

  it("sees that the cache is believed too long when the stamps are switched off by hand", async () => {
    await service.provokes("cache_differs");
    patientIds = await freshPatients();
    const tables = ["patients", "patient_records"];
    const { owner } = service.database;
    for (const table of tables) await owner.query(`alter table ${table} disable trigger stamp`);
    // Which kind it meets, and in which round, is chance; several rounds meet one.
    const violations: string[] = [];
    for (let round = 0; round < 20 && violations.length === 0; round++)
      violations.push(...(await play()).violations);
    for (const table of tables) await owner.query(`alter table ${table} enable trigger stamp`);
    expect(violations.filter((each) => kinds.some((kind) => kind.test(each)))).not.toEqual([]);
  });
});

describe("as it is", () => {
  it.each([
    ["left to itself", undefined],
    ["while the cache is emptied again and again", { all: true }],
  ])("%s, no reading is outdated", async (_how, invalidation) => {
    patientIds = await freshPatients();
    const before = (await service.call("GET", "/api/admin/cache/stats", { token: admin })).body;
    const history = await play(async () => {
      if (invalidation !== undefined)
        await service.call("POST", "/api/admin/cache/invalidate", { token: admin, body: invalidation });
    });
    expect(history).toMatchObject({ violations: [], unanswered: 0 });
    expect(history.reads).toBeGreaterThan(20);
    expect(history.writes).toBeGreaterThan(20);
    const after = (await service.call("GET", "/api/admin/cache/stats", { token: admin })).body;
    expect(after.hits).toBeGreaterThan(before.hits);
  });
});

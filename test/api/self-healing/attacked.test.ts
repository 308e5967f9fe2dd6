// Self-healing under attack: operators who decide against each other at once, wrong ids, detectors whose answer cannot be written
// down, a storm of faults, and administrators of tenants who ask for what is the platform's.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { catalogue } from "../../../mixins/healing/catalogue.ts";
import { withinBound } from "../../../mixins/healing/detectors.ts";
import { brokenInside, eventually } from "../../support/service.ts";
import { makeClinic } from "../../support/tenancy.ts";
import { miscount, openScene, type Scene } from "./scene.ts";

const code = "user_counts_differ";
const path = "/api/admin/self-healing";

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene?.stop());

const ask = (method: string, way: string, token = scene.token) =>
  scene.service.call(method, `${path}${way}`, { token });

/** One live fix of each fault at most, and no incident that nobody goes on with. */
async function expectConsistent() {
  const twice = "select code from fixes where deleted_at is null group by code having count(*) > 1";
  expect(await scene.sql(twice)).toEqual([]);
  const left = `select i.id from incidents i join fixes f on f.id = i.fix_id
    where f.deleted_at is not null and i.ended_at is null and i.status <> 'healing'`;
  expect(await scene.sql(left)).toEqual([]);
}

describe("operators who decide against each other at once", () => {
  it("confirm, delete, seed and look: each is answered, nobody with an error of the server, and all fits together", async () => {
    const clinics = await Promise.all([1, 2, 3].map(() => makeClinic(scene.service, scene.token)));
    await ask("POST", "/seed-fixes");
    const statuses = new Map<string, Set<number>>();
    for (let round = 0; round < 6; round++) {
      for (const { id } of clinics) await miscount(scene, id, round + 1);
      await ask("POST", "/seed-fixes");
      const { id } = await scene.fixOf(code);
      const at = (method: string, way: string) => async () => {
        const { status } = await ask(method, way);
        const name = `${method} ${way.replace(/\d+/, "*")}`;
        statuses.set(name, (statuses.get(name) ?? new Set()).add(status));
      };
      const all = [
        ...Array.from({ length: 5 }, () => at("POST", `/confirm/${id}`)),
        ...Array.from({ length: 3 }, () => at("DELETE", `/fixes/${id}`)),
        ...Array.from({ length: 4 }, () => at("POST", "/seed-fixes?overwrite=true")),
        ...Array.from({ length: 2 }, () => at("POST", "/look")),
      ];
      // In another order each time.
      const turned = [...all.slice(round * 2), ...all.slice(0, round * 2)];
      await Promise.all(turned.map((each) => each()));
      await expectConsistent();
    }
    for (const [name, seen] of statuses) {
      const promised = name.startsWith("POST /confirm")
        ? [200, 404]
        : name.startsWith("DELETE")
          ? [204, 404]
          : [200];
      expect([name, [...seen].filter((status) => !promised.includes(status))]).toEqual([name, []]);
    }
    expect(brokenInside(scene.service.process.output())).toEqual([]);
    // And it still heals.
    await ask("POST", "/seed-fixes");
    await scene.confirm(code);
    for (const { id } of clinics) await scene.sql("delete from user_counts where tenant_id = $1", [id]);
    for (const { id } of clinics) await scene.met(code, `tenant:${id}`, "healed");
  });

  it.each([
    "0",
    "-1",
    "1.5",
    "1e3",
    "999999999",
    "2147483648",
    "99999999999999999999",
    "x",
    "%00",
    "1%20or%201=1",
    "null",
  ])("confirming and deleting the fix %s is refused, and changes nothing", async (id) => {
    const before = await scene.sql("select id, status, deleted_at from fixes order by id");
    for (const [method, way] of [
      ["POST", `/confirm/${id}`],
      ["DELETE", `/fixes/${id}`],
    ] as const)
      expect([404, 422, 400]).toContain((await ask(method, way)).status);
    expect(await scene.sql("select id, status, deleted_at from fixes order by id")).toEqual(before);
  });
});

describe("what a detector answers", () => {
  it("is left out where it is too long for the bus, whatever it is", () => {
    expect(withinBound({ rows: 3 })).toEqual({ rows: 3 });
    const { left_out_bytes: bytes, ...rest } = withinBound({ text: "x".repeat(10_000_000), more: ["ü"] });
    expect(bytes).toBeGreaterThan(10_000_000);
    expect(rest).toEqual({});
  });

  it("and cannot be written down keeps no other fault from being looked for, and is named", async () => {
    const { id } = await makeClinic(scene.service, scene.token);
    await scene.sql(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.code = '${code}' then raise exception 'refused'; end if; return new; end $$`);
    await scene.sql(
      "create trigger refuse before insert or update on fault_looks for each row execute function refuse()",
    );
    try {
      await miscount(scene, id);
      const seen = await scene.look();
      expect(seen.unanswered).toEqual([{ code, service: "users" }]);
      expect(seen.looked + seen.left.length).toBe(catalogue.length - 1);
    } finally {
      await scene.sql("drop trigger refuse on fault_looks");
      await scene.sql("drop function refuse()");
    }
    await scene.met(code, `tenant:${id}`, "healed");
  });
});

describe("a storm of faults", () => {
  it("opens a thousand incidents of one fault at most; they end, and what is at fault is found again", async () => {
    const { id } = await scene.fixOf(code);
    await scene.sql(
      `insert into incidents (fix_id, code, service, target, evidence, next_try_at)
       select $1, $2, 'users', 'tenant:' || (1000000 + n), '{"counters": 1}', now() + interval '1 hour'
       from generate_series(1, 1100) n`,
      [id, code],
    );
    const clinic = await makeClinic(scene.service, scene.token);
    await miscount(scene, clinic.id);
    await scene.look();
    const of = "select from incidents where code = $1 and target = $2 and ended_at is null";
    expect(await scene.sql(of, [code, `tenant:${clinic.id}`])).toHaveLength(0);
    const { status } = await scene.service.call("GET", "/api/admin/health", { token: scene.token });
    expect(status).toBe(200);
    // Each look asks for fifty by name, and they are not there: that goes on.
    const live = "select from incidents where ended_at is null";
    expect((await scene.sql(live)).length).toBeLessThanOrEqual(1_050);
    await scene.sql("delete from incidents where target like 'tenant:1000%' and target > 'tenant:1000060'");
    await eventually(async () => {
      await scene.look();
      return (await scene.sql(`${live} and target like 'tenant:1000%'`)).length === 0;
    });
    // So many at once were a mass event: a person looks at it, and confirms again.
    await eventually(async () => (await scene.look()) && (await scene.fixOf(code)).open_incidents === 1);
    expect(await scene.fixOf(code)).toMatchObject({ status: "suspended", suspended_reason: "mass" });
    await scene.confirm(code);
    await scene.met(code, `tenant:${clinic.id}`, "healed");
  });
});

describe("an administrator of a tenant", () => {
  it("sees, confirms, deletes and looks for nothing, whosever the incident is", async () => {
    const [own, other] = await Promise.all([1, 2].map(() => makeClinic(scene.service, scene.token)));
    const { id } = await scene.fixOf(code);
    for (const [method, way] of [
      ["GET", "/incidents"],
      ["GET", `/incidents?code=${code}&tenant_id=${own?.id}`],
      ["GET", "/fixes"],
      ["GET", "/stats"],
      ["POST", `/confirm/${id}`],
      ["POST", "/seed-fixes?overwrite=true"],
      ["POST", "/look"],
      ["DELETE", `/fixes/${id}`],
    ] as const) {
      const answer = await ask(method, way, own?.token);
      expect([method, way, answer.status]).toEqual([method, way, 403]);
      expect(JSON.stringify(answer.body)).not.toMatch(/tenant:|counters/);
    }
    // An incident of another tenant's is not counted to them either, nor told in their log.
    await scene.sql(
      "update fixes set status = 'proposed', confirmed_at = null, confirmed_by = null, suspended_reason = null where id = $1",
      [id],
    );
    await miscount(scene, other?.id ?? 0);
    await scene.met(code, `tenant:${other?.id}`, "open");
    const health = async (token = "") =>
      (await scene.service.call("GET", "/api/admin/health", { token })).body.open_incidents;
    expect([await health(own?.token), await health(other?.token)]).toEqual([0, 1]);
    const log = await scene.service.call("GET", "/api/admin/audit?limit=200", { token: own?.token ?? "" });
    expect(JSON.stringify(log.body)).not.toContain(`tenant:${other?.id}`);
  });
});

// Two administrators at one thing: five hundred random pairs in the same moment, each of which must end as one of its two
// serial orders would have. A run is repeated with SEED=<the seed it printed>.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { dice } from "../../cluster/faults/support/seed.ts";
import type { WireRequest } from "../../contract/walk/wire.ts";
import { World } from "../../contract/walk/world.ts";
import { type Doing, type Scenario, serialOutcomes } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";

const pairsEach = 100;
const seed = Number(process.env["SEED"] ?? 1 + Math.floor(Math.random() * 999_999));

let world: World;
const tokens: Record<Scenario["by"], string[]> = { admin: [], superadmin: [] };

beforeAll(async () => {
  process.stdout.write(`interleaved: SEED=${seed}\n`);
  world = await World.open();
  const { own, platform } = world.tenants;
  for (const [role, tenant] of [
    ["admin", own],
    ["superadmin", platform],
  ] as const)
    for (let n = 0; n < 2; n++) {
      const person = await world.addUser(tenant.id, role);
      await world.sql("update users set can_see_all_patients = true where id = $1", [person.id]);
      tokens[role].push(await world.openSession(person));
    }
});
afterAll(() => world?.stop());

describe("the outcomes of two serial orders", () => {
  const [user] = scenarios;
  const doing = (name: string) => user?.doings.find((each) => each.name === name) as Doing<unknown>;

  it("differ where the order matters, and a lost change is neither", () => {
    const outcomes = serialOutcomes(user?.begins, doing("block"), doing("delete"));
    expect(outcomes).toEqual([
      { statuses: [200, 204], state: { exists: false, active: false, role: "doctor" } },
      { statuses: [404, 204], state: { exists: false, active: true, role: "doctor" } },
    ]);
    const lost = { statuses: [200, 204], state: { exists: false, active: true, role: "doctor" } };
    expect(outcomes).not.toContainEqual(lost);
  });
});

describe.each(scenarios.map((scenario): [string, Scenario] => [scenario.name, scenario]))(
  "%s",
  (_name, scenario) => {
    it(`${pairsEach} pairs of random doings at once each end as one after the other`, async () => {
      const roll = dice(seed + scenario.name.length);
      const pick = () => scenario.doings[roll(scenario.doings.length)] as Doing<unknown>;
      for (let n = 0; n < pairsEach; n++) {
        const pair = [pick(), pick()] as const;
        const id = await scenario.make(world);
        const [first, second] = await Promise.all(
          pair.map((doing, at) => world.wire.send(requestOf(doing, id, tokens[scenario.by][at] ?? ""))),
        );
        const seen = {
          statuses: [first?.status, second?.status],
          state: await scenario.look(world, id),
        };
        const told = `${pair[0].name} and ${pair[1].name}`;
        expect({ told, of: serialOutcomes(scenario.begins, ...pair) }).toEqual({
          told,
          of: expect.arrayContaining([seen]),
        });
      }
    });
  },
);

it("and every log is whole", async () => {
  for (const by of ["admin", "superadmin"] as const) {
    const answer = await world.service.call("GET", "/api/admin/audit/verify", { token: tokens[by][0] });
    expect(answer.body).toMatchObject({ ok: true, first_bad_seq: null });
  }
});

function requestOf(doing: Doing<unknown>, id: number, token: string): WireRequest {
  const body = doing.body?.(id);
  const headers = { authorization: `Bearer ${token}` };
  return {
    method: doing.method,
    path: doing.path(id),
    ...(body === undefined
      ? { headers }
      : { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) }),
  };
}

// Every operation × every caller × a tenant in every state × an id in every place. What each cell must answer is
// computed by rules.ts, written from the decisions; the operations come from the route table.
import { refusalFaults } from "../../support/refusals.ts";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { contractOf, type Route, routes } from "../../../services/api-gateway/routes.ts";
import { type Cell, cellsOf, requestOf, Rows } from "./cells.ts";
import { callers, type CallerName, roleOf, rules } from "./rules.ts";
import { inParallel, type WireAnswer, type WireRequest } from "./wire.ts";
import { kinds, neverId, type Person, World } from "./world.ts";

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
const table = routes.map((route): [string, Route] => [nameOf(route), route]);
const width = 8;

describe("the route table", () => {
  it("names the operations of the rules, and no other", () => {
    expect(Object.keys(rules).sort()).toEqual(routes.map(nameOf).sort());
  });

  it("declares every id that the rules know, and no other", () => {
    for (const [name, route] of table) {
      const { path = {}, query = {}, body = {} } = contractOf(route);
      const declared = Object.entries({ path, query, body }).flatMap(([place, fields]) =>
        Object.keys(fields)
          .filter((field) =>
            /^(?:tenant_id|department_id|dept_id|head_doctor_id|patient_id|webhook_id|subdomain|token)$/.test(
              field,
            ),
          )
          .map((field) => `${place} ${field}`),
      );
      // A tenant's subdomain is chosen when it is made and the user_id of the log is a filter: neither is an id of a thing.
      const chosen = name === "POST /api/admin/tenants" ? ["body subdomain"] : [];
      const known = rules[name]?.ids
        .filter((id) => id.name !== "user_id")
        .map((id) => `${id.place} ${id.name}`);
      expect([name, declared.sort()]).toEqual([name, [...(known ?? []), ...chosen].sort()]);
    }
  });
});

describe("each operation", () => {
  let world: World;
  let sharedRows: Rows;
  const tokens = new Map<CallerName, string>();
  const people = new Map<CallerName, Person>();
  const seen = new Set<string>();

  beforeAll(async () => {
    world = await World.open({ ARGON2_WORKERS: "2" });
    sharedRows = new Rows(world, { shared: true });
    for (const caller of callers) {
      if (caller === "anonymous") continue;
      const role = roleOf(caller) ?? "admin";
      const { own, platform } = world.tenants;
      const person = await world.addUser(role === "superadmin" ? platform.id : own.id, role);
      people.set(caller, person);
      tokens.set(caller, await world.openSession(person, { expired: caller === "expired" }));
    }
    const ids = [...people.values()].map((person) => person.id);
    await world.sql("update users set can_see_all_patients = true where id = any($1)", [ids]);
    const { id = 0 } = people.get("blocked") ?? {};
    const token = await world.service.signIn("admin");
    const answer = await world.service.call("POST", `/api/admin/users/${id}/block`, { token });
    expect(answer.status).toBe(200);
  });
  afterAll(() => world.stop());

  interface Asked {
    cell: Cell;
    request: WireRequest;
    requestId: string;
  }

  async function ask(route: Route, cell: Cell): Promise<Asked> {
    const changes = cell.expected.status < 400 && route.method !== "GET";
    const request = await requestOf(changes ? new Rows(world, { shared: false }) : sharedRows, route, cell);
    const person = people.get(cell.caller);
    // Signing out ends the session, so each one needs its own.
    const ends = route.action === "auth.logout" && person !== undefined && roleOf(cell.caller) !== undefined;
    const token = ends ? await world.openSession(person) : tokens.get(cell.caller);
    const requestId = `walk-${world.unique()}`;
    const authorization: Record<string, string> =
      token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { ...request.headers, ...authorization, "x-request-id": requestId };
    return { cell, requestId, request: { ...request, headers } };
  }

  it.each(table)("%s answers as the rules say", async (name, route) => {
    const rule = rules[name];
    if (rule === undefined) throw new Error("no rule");
    const cells = cellsOf(name, rule);
    const refused = cells.filter((cell) => cell.expected.status >= 400);
    const granted = cells.filter((cell) => cell.expected.status < 400);
    const answers = new Map<Cell, WireAnswer>();
    const faults: string[] = [];
    const send = async ({ cell, request }: Asked) => {
      const answer = await world.wire.send(request);
      answers.set(cell, answer);
      faults.push(...faultsOf(cell, answer));
      if (answer.status >= 400) faults.push(...refusalFaults(route, answer.status, JSON.parse(answer.text)));
    };

    const asked: Asked[] = [];
    for (const cell of refused) asked.push(await ask(route, cell));
    const before = await world.checksum();
    const { audits } = contractOf(route);
    const recorded = await refusalsRecorded(audits);
    await inParallel(asked, width, send);
    expect(await world.checksum()).toBe(before);
    faults.push(
      ...unauditedAmong(asked, recorded, await refusalsRecorded(audits)),
      ...distinguishable(answers),
    );
    await inParallel(granted, width, async (cell) => send(await ask(route, cell)));

    expect(faults).toEqual([]);
    for (const { name: cellName } of answers.keys()) seen.add(cellName);
    expect(answers.size).toBe(cells.length);
  });

  it.each(["users", "departments"])(
    "a superadmin's list of the %s of a tenant shows the living only",
    async (list) => {
      const { own, other, inactive, deleted } = world.tenants;
      const totals: Record<string, number> = {};
      for (const [kind, id] of Object.entries({ own, other, inactive, deleted, never: { id: neverId } })) {
        const answer = await world.wire.send({
          method: "GET",
          path: `/api/admin/${list}?tenant_id=${id.id}`,
          headers: { authorization: `Bearer ${tokens.get("superadmin")}` },
        });
        const { total, items } = JSON.parse(answer.text);
        expect(items.every((item: { tenant_id: number }) => item.tenant_id === id.id)).toBe(true);
        totals[kind] = total;
      }
      const some = expect.any(Number);
      expect(totals).toEqual({ own: some, other: some, inactive: some, deleted: 0, never: 0 });
      expect([totals.own, totals.other, totals.inactive]).not.toContain(0);
    },
  );

  it("an administrator deactivates no tenant: 403 for the own one, 404 for every other", async () => {
    const told: Record<string, number> = {};
    for (const [kind, { id }] of Object.entries({ ...world.tenants, never: { id: neverId } })) {
      const answer = await world.wire.send({
        method: "PUT",
        path: `/api/admin/tenants/${id}`,
        headers: { authorization: `Bearer ${tokens.get("admin")}`, "content-type": "application/json" },
        body: '{"is_active": false}',
      });
      told[kind] = answer.status;
    }
    expect(told).toEqual({ own: 403, other: 404, inactive: 404, deleted: 404, platform: 404, never: 404 });
  });

  it("was walked whole: no cell is missing and none stands twice", () => {
    const perCaller = Object.values(rules).reduce((sum, { ids }) => {
      const undeclared = ["query", "body"].filter((place) => !ids.some((id) => id.place === place));
      return sum + ids.length + undeclared.length;
    }, 0);
    expect(seen.size).toBe(perCaller * callers.length * kinds.length);
  });

  function faultsOf(cell: Cell, answer: WireAnswer): string[] {
    const { status, code } = cell.expected;
    const found: string[] = [];
    const body = answer.text === "" ? undefined : JSON.parse(answer.text);
    if (answer.status !== status) found.push(`${cell.name}: ${answer.status} not ${status}: ${answer.text}`);
    if (code !== undefined && body?.code !== code) found.push(`${cell.name}: code ${body?.code} not ${code}`);
    if (status === 401 && answer.headers["www-authenticate"] !== "Bearer")
      found.push(`${cell.name}: no challenge`);
    if (status !== 204 && body === undefined) found.push(`${cell.name}: no body`);
    if (status === 204 && answer.text !== "") found.push(`${cell.name}: a body with 204`);
    found.push(...leaksIn(cell, answer));
    return found;
  }

  /** Names carry their tenant; whoever does not stand above tenants reads those of their own only. */
  function leaksIn(cell: Cell, answer: WireAnswer): string[] {
    if (roleOf(cell.caller) === "superadmin" || cell.name.startsWith("GET /api/auth/departments")) return [];
    const canaries = [...answer.text.matchAll(/foreign-canary-(\d+)-end|foreign-canary-t-/g)];
    const own = String(world.tenants.own.id);
    return canaries.some((canary) => canary[1] !== own) ? [`${cell.name}: shows a foreign row`] : [];
  }

  /** How often each caller is on record as refused, in the own tenant's log: as entries, or counted to become one. */
  async function refusalsRecorded(action: string): Promise<Map<string, number>> {
    const rows = await world.sql<{ who: string; times: number }>(
      `select concat_ws(' ', user_id, tenant_id) as who, sum(times)::integer as times from (
         select user_id, tenant_id, 1 as times from audit_entries where action = $1 and outcome = 'denied'
         union all select user_id, tenant_id, times from audit_repeats where action = $1 and outcome = 'denied') all_of_them
       where user_id is not null group by 1`,
      [action],
    );
    return new Map(rows.map(({ who, times }) => [who, times]));
  }

  /** A caller we know was told 403: each time it was recorded, under the own name and in the own tenant. */
  function unauditedAmong(
    asked: readonly Asked[],
    before: ReadonlyMap<string, number>,
    after: ReadonlyMap<string, number>,
  ): string[] {
    const due = new Map<string, number>();
    for (const { cell } of asked) {
      if (cell.expected.status !== 403) continue;
      const { id, tenantId } = people.get(cell.caller) ?? { id: 0, tenantId: 0 };
      due.set(`${id} ${tenantId}`, (due.get(`${id} ${tenantId}`) ?? 0) + 1);
    }
    return [...new Set([...due.keys(), ...after.keys()])].flatMap((who) => {
      const recorded = (after.get(who) ?? 0) - (before.get(who) ?? 0);
      const wanted = due.get(who) ?? 0;
      return recorded === wanted
        ? []
        : [`user and tenant ${who}: refused ${wanted} times, recorded ${recorded}`];
    });
  }
});

/** What is refused because of whose it is, and what is refused because it never was, are the same bytes. */
function distinguishable(answers: ReadonlyMap<Cell, WireAnswer>): string[] {
  const [...all] = answers;
  return all.flatMap(([cell, answer]) => {
    const never = all.find(
      ([other]) =>
        other.kind === "never" &&
        other.caller === cell.caller &&
        other.id === cell.id &&
        other.place === cell.place &&
        other.expected.status === cell.expected.status,
    )?.[1];
    return never === undefined || essence(never) === essence(answer)
      ? []
      : [`${cell.name}: ${essence(answer)} is told from ${essence(never)}`];
  });
}

function essence({ status, headers, text }: WireAnswer): string {
  const { date: _date, "x-request-id": _id, ...rest } = headers;
  return JSON.stringify([status, rest, text]);
}

// 2,000 hostile requests: whatever comes, the service answers in its own words, in time, and goes on as before.
// A run is repeated with HOSTILE_SEED=<the seed it printed>.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { contractOf, routes } from "../../../services/api-gateway/routes.ts";
import { Dice, drawHostile, type Hostile, type Source } from "./hostile.ts";
import { inParallel, sendBytes, type WireAnswer } from "./wire.ts";
import { roles, World } from "./world.ts";

const requests = 2_000;
const width = 8;
const answerMsMax = 5_000;
/** It looks for all faults, and says so itself when its time is up. */
const lookMsMax = 9_000;
const seed = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 31));
const known = [200, 201, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 431];

let world: World;
let source: Source;
let controls: Record<string, string>;

beforeAll(async () => {
  world = await World.open({ ARGON2_WORKERS: "2", LOG_LEVEL: "warn" });
  const { own, platform } = world.tenants;
  const tokens = ["", "a.b.c", "null"].map((text) => ({ text, above: false }));
  for (const role of roles) {
    for (let sessions = 0; sessions < 12; sessions++) {
      const above = role === "superadmin";
      const person = await world.addUser(above ? platform.id : own.id, role);
      tokens.push({ text: await world.openSession(person), above });
    }
  }
  await world.sql("update users set can_see_all_patients = true where tenant_id = any($1)", [
    [own.id, platform.id],
  ]);
  const ids: Record<string, number[]> = { user_id: [], dept_id: [], tenant_id: [], patient_id: [] };
  for (let i = 0; i < 40; i++) {
    ids.user_id?.push((await world.addUser(own.id)).id);
    ids.dept_id?.push(await world.addDepartment(own.id));
    ids.patient_id?.push(await world.addPatient(own.id));
    if (i % 4 === 0) ids.tenant_id?.push((await world.addTenant()).id);
  }
  source = { tokens, ids };
  controls = await control();
});
afterAll(() => world.stop());

/** Answers that would differ if an object's prototype, or a default, had been changed for everyone. */
async function control(): Promise<Record<string, string>> {
  const token = await world.openSession(await world.addUser(world.tenants.other.id, "admin"));
  const seen: Record<string, string> = {};
  const paths = [
    "/api/preferences",
    "/api/admin/departments",
    "/api/admin/departments?limit=x",
    "/api/admin/tenants",
    "/api/admin/audit?action=never.was",
    "/api/admin/users/1",
    "/never",
  ];
  for (const path of paths) {
    const answer = await world.wire.send({
      method: "GET",
      path,
      headers: { authorization: `Bearer ${token}` },
    });
    seen[path] = `${answer.status} ${Object.keys(answer.headers).sort()} ${answer.text}`;
  }
  return seen;
}

function faultsOf({ method, marker, route }: Hostile, { status, text, headers, ms }: WireAnswer): string[] {
  const faults: string[] = [];
  if (!known.includes(status)) faults.push(`status ${status}`);
  if (status < 300 && method === route.method && status !== route.status) faults.push(`success as ${status}`);
  if (ms > (route.action === "self-healing.look" ? lookMsMax : answerMsMax))
    faults.push(`took ${Math.round(ms)} ms`);
  if (status !== 204 && method !== "HEAD") faults.push(...shapeFaults(status, text, headers));
  if (status >= 400 && text.includes(marker)) faults.push("echoes the input");
  if (Object.values(headers).some((value) => value.includes(marker)))
    faults.push("echoes the input in a header");
  if ("set-cookie" in headers) faults.push("sets a cookie");
  return faults;
}

function leaksIn({ above }: Hostile, { text }: WireAnswer): string[] {
  const tenants = [...text.matchAll(/foreign-canary-(\d+)-end|foreign-canary-(t-)/g)].map(([, id]) =>
    Number(id),
  );
  return !above && tenants.some((id) => id !== world.tenants.own.id) ? ["shows a foreign row"] : [];
}

function shapeFaults(status: number, text: string, headers: Readonly<Record<string, string>>): string[] {
  if (!headers["content-type"]?.startsWith("application/json"))
    return [`is ${headers["content-type"]}: ${text}`];
  const body: unknown = JSON.parse(text);
  if (status < 400) return [];
  if (typeof body !== "object" || body === null || !("detail" in body)) return ["has no detail"];
  if (status !== 422) {
    const { detail, ...rest } = body;
    const code = "code" in rest && Object.keys(rest).length === 1 ? rest.code : undefined;
    return typeof detail === "string" && typeof code === "string" && /^[a-z_]+$/.test(code)
      ? []
      : [`is ${text}`];
  }
  const fine =
    Object.keys(body).length === 1 &&
    Array.isArray(body.detail) &&
    body.detail.length > 0 &&
    body.detail.every(
      (each: Record<string, unknown>) =>
        Object.keys(each).sort().join() === "loc,msg,type" &&
        Array.isArray(each.loc) &&
        each.loc.every((part) => typeof part === "string") &&
        ["path", "query", "header", "body"].includes(String(each.loc[0])) &&
        typeof each.msg === "string" &&
        typeof each.type === "string",
    );
  return fine ? [] : [`is ${text.slice(0, 300)}`];
}

describe(`${requests} hostile requests from seed ${seed}`, () => {
  const statuses = new Map<number, number>();
  const reached = new Set<string>();

  it("are answered as promised, each within 5 s", async () => {
    const dice = new Dice(seed);
    const drawn = Array.from({ length: requests }, (_, serial) => drawHostile(dice, source, serial));
    const faults: string[] = [];
    await inParallel(drawn, width, async (hostile) => {
      const shown = `${hostile.method} ${hostile.route.path} (${hostile.marker})`;
      try {
        const answer = await sendBytes(world.service.url, hostile.bytes);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (answer.status !== 401 && answer.status !== 404) reached.add(hostile.route.action);
        const found = [...faultsOf(hostile, answer), ...leaksIn(hostile, answer)];
        const head = hostile.bytes.subarray(0, 400).toString("latin1");
        faults.push(...found.map((fault) => `${shown} ${fault}\n${head}`));
      } catch (error) {
        faults.push(`${shown}: ${String(error)}`);
      }
    });
    expect(faults).toEqual([]);
  });

  it("reach every operation, and every kind of refusal", () => {
    const contracts = routes.filter((route) => contractOf(route).access.who !== "public");
    expect([...reached]).toEqual(expect.arrayContaining(contracts.map(({ action }) => action)));
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404, 405, 422]));
  });

  it("leave the service as healthy as before, with every object's prototype as it was", async () => {
    const superadmin = await world.addUser(world.tenants.platform.id, "superadmin");
    const health = await world.wire.send({
      method: "GET",
      path: "/api/admin/health",
      headers: { authorization: `Bearer ${await world.openSession(superadmin)}` },
    });
    expect(health.status).toBe(200);
    expect(JSON.parse(health.text)).toMatchObject({ status: "ok" });
    expect(await control()).toEqual(controls);
  });

  it("leave nothing in the log of errors", () => {
    const lines = world.service.process.output().split("\n");
    // Some of them say who they are from, as a proxy would: that is told once, and no failure. Nor is it one that the machine is busy.
    const expected = /"mod":"access"|"msg":"A request came with X-Forwarded-For|"msg":"slow statement"/;
    expect(lines.filter((line) => line.startsWith("{") && !expected.test(line))).toEqual([]);
  });
});

// Webhooks while the process is killed every other second, under changes of several tenants, with receivers that fail, hang
// and drop connections: every event must reach every webhook that asked for it, or end as failed after all its tries, once
// in the log, always under one id and with a good signature.
import { createServer, type Server } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { callApi, eventually, startService, type TestService } from "../../support/service.ts";
import { makeClinic } from "../../support/tenancy.ts";
import { verified } from "../../support/webhooks.ts";
import { type Killable, startKillable } from "./support/killable.ts";
import { dice, seedOf } from "./support/seed.ts";
import { type Journal, type JournalDelivery, judge, type Reception } from "./support/webhook-journal.ts";

/** By default every two seconds for two minutes. */
const kills = Number(process.env["KILLS"] ?? 60);
const settings = {
  WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
  WEBHOOK_RETRY_SECONDS: "0,0,1,1,1,1,2,2,2,2,2,2",
  LOG_LEVEL: "error",
};
const manners = ["well", "flaky", "slow", "dead", "rude"] as const;
const seed = seedOf("webhooks");
const roll = dice(seed);

let service: TestService;
let running: Killable;
let server: Server;
const receptions: Reception[] = [];
const secrets = new Map<number, string>();
const clinics: { id: number; token: string }[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => void receive(request.url ?? "", request.headers, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  service = await startService(settings);
  const superadmin = await service.signIn("superadmin");
  for (let n = 0; n < 3; n++) clinics.push(await makeClinic(service, superadmin));
  for (const { token } of clinics) for (const manner of manners) await register(token, manner);
  await service.process.stop();
  running = await startKillable(service);
}, 120_000);
afterAll(async () => {
  await running?.stop();
  server?.closeAllConnections();
  server?.close();
  await service?.stop();
});

/** The path is "/<manner>"; the webhook is known by whose secret signed, as ids are given after the URL. */
async function register(token: string, manner: string): Promise<void> {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const body = { url: `http://127.0.0.1:${port}/${manner}`, events: ["department.created"] };
  const made = await service.call("POST", "/api/webhooks/register", { token, body });
  expect(made.status).toBe(201);
  secrets.set(made.body.id, made.body.secret);
  const url = `http://127.0.0.1:${port}/${manner}/${made.body.id}`;
  await service.call("PUT", `/api/webhooks/${made.body.id}`, { token, body: { url } });
}

async function receive(
  path: string,
  headers: Record<string, unknown>,
  body: string,
  response: import("node:http").ServerResponse,
): Promise<void> {
  const [, manner, hook] = path.split("/");
  const hookId = Number(hook);
  const status = manner === "dead" || (manner === "flaky" && roll(10) < 3) ? 500 : 200;
  if (manner === "slow") await delay(50 + roll(200));
  if (manner === "rude" && roll(4) === 0) return void response.destroy();
  const reception = { hookId, id: String(headers["webhook-id"]), at: Date.now(), status, body, signed: true };
  try {
    verified(secrets.get(hookId) ?? "", { headers: headers as Record<string, string>, body });
  } catch {
    reception.signed = false;
  }
  receptions.push(reception);
  response.writeHead(status).end();
}

/** Changes of every tenant until told to stop; how many were acknowledged. */
async function load(ending: AbortSignal): Promise<number> {
  let acknowledged = 0;
  const client = async ({ token }: { token: string }, number: number) => {
    for (let round = 0; !ending.aborted; round++) {
      const body = { name: `Unit ${number} ${round}` };
      const answer = await callApi(running.url, "POST", "/api/admin/departments", { token, body }).catch(
        () => undefined,
      );
      if (answer?.status === 201) acknowledged++;
      await delay(answer === undefined ? 100 : 20 + roll(40));
    }
  };
  await Promise.all(clinics.map((each, number) => client(each, number)));
  return acknowledged;
}

async function journalOf(killTimes: readonly number[]): Promise<Journal> {
  const { owner } = service.database;
  const due = await owner.query(
    `select t.id as hook_id, e.id as event_id from events e join delivery_targets t on t.tenant_id = e.tenant_id
     where e.kind = 'department.created' and e.created_at >= t.created_at and t.id = any($1)`,
    [[...secrets.keys()]],
  );
  const deliveries = await owner.query<JournalDelivery>(
    `select 'msg_' || replace(id::text, '-', '') as id, target_id as hook_id, event_id, state from deliveries
     where target_id = any($1)`,
    [[...secrets.keys()]],
  );
  return { due: due.rows, deliveries: deliveries.rows, receptions, kills: killTimes };
}

describe("the checker", () => {
  const good: Journal = {
    due: [{ hook_id: 1, event_id: "1" }],
    deliveries: [{ id: "a", hook_id: 1, event_id: "1", state: "succeeded" }],
    receptions: [{ hookId: 1, id: "a", at: 10, status: 200, signed: true, body: "{}" }],
    kills: [20],
  };
  const [delivery] = good.deliveries as [JournalDelivery];
  const [reception] = good.receptions as [Reception];
  it("finds nothing in what is whole, nor in a repetition after a kill", () => {
    expect(judge(good)).toEqual({ faults: [], duplicates: 0 });
    const again = { ...good, receptions: [reception, { ...reception, at: 30 }] };
    expect(judge(again)).toEqual({ faults: [], duplicates: 1 });
  });
  it.each<[string, Partial<Journal>, RegExp]>([
    ["a lost event", { deliveries: [] }, /has 0 deliveries/],
    ["a doubled delivery", { deliveries: [delivery, { ...delivery, id: "b" }] }, /has 2 deliveries/],
    ["one without an end", { deliveries: [{ ...delivery, state: "pending" }] }, /is pending/],
    ["one canceled", { deliveries: [{ ...delivery, state: "canceled" }] }, /is canceled/],
    ["a success that never came", { receptions: [] }, /never came/],
    [
      "a failure never tried",
      { deliveries: [{ ...delivery, state: "failed" }], receptions: [] },
      /never tried/,
    ],
    ["a repetition without a kill", { receptions: [reception, { ...reception, at: 15 }] }, /without a kill/],
    [
      "other words",
      { receptions: [reception, { ...reception, status: 500, body: "{ }" }] },
      /different words/,
    ],
    ["a stranger", { receptions: [reception, { ...reception, id: "z" }] }, /in no log/],
    ["a bad signature", { receptions: [{ ...reception, signed: false }] }, /signature/],
  ])("sees %s", (_case, planted, fault) => {
    expect(judge({ ...good, ...planted }).faults.join("\n")).toMatch(fault);
  });
});

describe(`a process killed ${kills} times`, () => {
  it("loses no delivery, repeats none but after a kill, and signs all of them", async () => {
    const ending = new AbortController();
    const loading = load(ending.signal);
    const killTimes: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      await delay(200 + roll(1_600));
      killTimes.push(Date.now());
      await running.kill();
      running = await startKillable(service);
    }
    ending.abort();
    const acknowledged = await loading;
    const { owner } = service.database;
    await eventually(async () => {
      const { rows } = await owner.query(
        `select (select count(*) from fan_out_queue) + (select count(*) from deliveries where state = 'pending') as left`,
      );
      return Number(rows[0].left) === 0;
    }, 180_000);
    const journal = await journalOf(killTimes);
    const { faults, duplicates } = judge(journal);
    const states = Object.groupBy(journal.deliveries, ({ state }) => state);
    process.stdout.write(
      `webhooks: ${kills} kills, ${acknowledged} changes, ${journal.due.length} deliveries (${states["succeeded"]?.length} succeeded, ${states["failed"]?.length} failed), ${receptions.length} receptions, ${duplicates} repetitions\n`,
    );
    expect(faults).toEqual([]);
    expect(journal.due.length).toBeGreaterThanOrEqual(acknowledged * manners.length);
    // Of what is in flight at a kill, ten at most at each endpoint, each may come again once.
    expect(duplicates).toBeLessThanOrEqual(kills * secrets.size * 10);
    // Planted in the real journal, a loss and a repetition are seen.
    const [first] = journal.deliveries;
    const [taken] = receptions.filter(({ status }) => status < 300);
    if (first === undefined || taken === undefined) throw new Error("nothing was delivered");
    expect(judge({ ...journal, deliveries: journal.deliveries.slice(1) }).faults[0]).toMatch(/has 0/);
    const planted = [...receptions, { ...taken, at: Math.max(...receptions.map(({ at }) => at)) + 1 }];
    const quiet = killTimes.filter((kill) => kill < taken.at);
    expect(judge({ ...journal, receptions: planted, kills: quiet }).faults.join()).toMatch(/without a kill/);
  });
});

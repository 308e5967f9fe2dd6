// Ten thousand schedules of payment notifications by chance (repeated, out of order, forged, contradicted) at two
// processes of the service on one database, each of them killed again and again: in the end the database holds exactly
// what a small model says.
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { paymentSettings } from "../../support/notifications.ts";
import {
  addressOf,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";
import { makeTenant } from "../../support/tenancy.ts";
import { type Delivery, drawSchedule, faultsIn, type Schedule } from "./support/payment-schedules.ts";
import { dice, seedOf } from "./support/seed.ts";

const bounded = (name: string, fallback: number, max: number): number => {
  const given = Number(process.env[name] ?? fallback);
  return Number.isInteger(given) && given >= 0 && given <= max ? given : fallback;
};
const scheduleCount = bounded("SCHEDULES", 10_000, 100_000);
const killsMax = bounded("KILLS", 40, 1_000);
const atOnce = 48;
const answerMsMax = 90_000;

interface Node {
  url: string;
  running: RunningProcess;
}

let service: TestService;
const nodes: Node[] = [];
let schedules: Schedule[] = [];
const agent = new Agent({ keepAlive: true, maxSockets: 2 * atOnce });
const seed = seedOf("payments");
const roll = dice(seed);

async function startNode(number: number): Promise<Node> {
  const running = runProcess({ ...service.settings, NODE_ID: `payments-${number}`, LOG_LEVEL: "warn" });
  return { running, url: await addressOf(running) };
}

beforeAll(async () => {
  service = await startService(paymentSettings);
  const superadmin = await service.signIn("superadmin");
  const more = [await makeTenant(service, superadmin), await makeTenant(service, superadmin)];
  await service.process.stop();
  for (const number of [0, 1]) nodes.push(await startNode(number));
  const tenants = ["demo", ...more.map(({ subdomain }) => subdomain)];
  schedules = Array.from({ length: scheduleCount }, (_, number) => drawSchedule(seed, number, tenants));
}, 120_000);
afterAll(async () => {
  agent.destroy();
  for (const { running } of nodes) await running.stop();
  await service?.stop();
});

interface Told {
  status: number;
  duplicate?: boolean;
}

/** undefined when no answer came. */
function post(url: string, { path, body, headers }: Delivery): Promise<Told | undefined> {
  return new Promise((resolve) => {
    const sending = request(`${url}${path}`, { method: "POST", agent, headers: headers() }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      answer.once("error", () => resolve(undefined));
      answer.once("end", () => {
        const { duplicate } = answer.statusCode === 200 ? JSON.parse(text) : {};
        resolve({ status: answer.statusCode ?? 0, duplicate });
      });
    });
    sending.once("error", () => resolve(undefined));
    sending.end(body);
  });
}

const wrongAnswers: string[] = [];
/** How often each notification was answered as the first of its kind. */
const firsts = new Map<string, number>();
let answered = 0;
let unanswered = 0;

/** As a provider does: again until it is answered. */
async function deliver(delivery: Delivery): Promise<void> {
  const deadline = performance.now() + answerMsMax;
  for (;;) {
    const { url = "" } = nodes[roll(nodes.length)] ?? {};
    const told = await post(url, delivery);
    if (told !== undefined && told.status !== 503) {
      answered++;
      if (told.status !== delivery.expected)
        wrongAnswers.push(`${delivery.id}: ${told.status}, not ${delivery.expected}`);
      if (told.duplicate === false) firsts.set(delivery.id, (firsts.get(delivery.id) ?? 0) + 1);
      return;
    }
    unanswered++;
    if (performance.now() > deadline) throw new Error(`${delivery.id} was never answered`);
    await delay(10 + roll(40));
  }
}

async function play({ deliveries, atOnce: together }: Schedule): Promise<void> {
  const genuine = deliveries.filter(({ expected }) => expected !== 409);
  if (together) await Promise.all(genuine.map(deliver));
  else for (const each of genuine) await deliver(each);
  for (const each of deliveries) if (each.expected === 409) await deliver(each);
}

async function killAgainAndAgain(ending: AbortSignal): Promise<number> {
  let kills = 0;
  while (!ending.aborted && kills < killsMax) {
    await delay(100 + roll(900), undefined, { signal: ending }).catch(() => undefined);
    const number = roll(nodes.length);
    const node = nodes[number];
    if (ending.aborted || node === undefined) break;
    node.running.child.kill("SIGKILL");
    await node.running.exited;
    kills++;
    nodes[number] = await startNode(number);
  }
  return kills;
}

describe(`${scheduleCount} schedules of seed ${seed}`, () => {
  it("every delivery is answered as it must be, while processes are killed", async () => {
    const ending = new AbortController();
    const killing = killAgainAndAgain(ending.signal);
    let next = 0;
    const worker = async () => {
      for (let each = schedules[next++]; each !== undefined; each = schedules[next++]) await play(each);
    };
    try {
      await Promise.all(Array.from({ length: atOnce }, worker));
    } finally {
      ending.abort();
    }
    const kills = await killing;
    process.stdout.write(`payments: ${answered} answers, ${unanswered} tries lost, ${kills} kills\n`);
    expect(wrongAnswers.slice(0, 20)).toEqual([]);
    expect([...firsts].filter(([, times]) => times > 1)).toEqual([]);
    if (killsMax > 0 && scheduleCount >= 1_000) expect(kills).toBeGreaterThan(0);
  });

  it.each<[planted: string, statement: string, seen: RegExp]>([
    [
      "a lost event",
      "delete from events where id = (select max(id) from events where kind like 'payment.%')",
      /: told /,
    ],
    [
      "an event twice",
      "insert into events (tenant_id, kind, payload) select tenant_id, kind, payload from events where kind = 'payment.failed' limit 1",
      /: told /,
    ],
    [
      "a lost notification",
      "delete from payment_notifications where notification_id = (select min(notification_id) from payment_notifications)",
      /is lost/,
    ],
    [
      "a payment that missed its last change",
      `update payments set status = 'pending', pending_at = occurred_at
       where id = (select max(id) from payments where status = 'failed' and pending_at is null)`,
      /is pending, not failed/,
    ],
    ["a lost payment", "delete from payments where id = (select min(id) from payments)", /is undefined, not/],
    [
      "a change recorded twice",
      `insert into audit_entries (tenant_id, action, target_type, target_id, outcome, changes)
       select tenant_id, action, target_type, target_id, outcome, changes from audit_entries
       where action = 'payment.update' order by id desc limit 1`,
      /are in the log/,
    ],
  ])("the checker sees %s", async (_planted, statement, seen) => {
    const { owner } = service.database;
    await owner.query("begin");
    try {
      expect((await owner.query(statement)).rowCount).toBe(1);
      expect((await faultsIn(owner, schedules)).join("\n")).toMatch(seen);
    } finally {
      await owner.query("rollback");
    }
  });

  it("the database holds what the model says", async () => {
    expect(await faultsIn(service.database.owner, schedules)).toEqual([]);
  });
});

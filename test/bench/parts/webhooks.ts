// Webhooks: 20 000 events to 20 endpoints with every attempt recorded, against a loop of signed POSTs that records nothing;
// how old an event is when it is first told, at half that load; what a hanging and a refusing endpoint do to the others;
// and whether reading what is due costs the same with a million deliveries in the log.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { dueText } from "../../../mixins/deliveries/due-deliveries.ts";
import { cpuMsOf } from "../cpu.ts";
import type { BareWebhooksJob, BareWebhooksResult } from "../bare-webhooks-child.ts";
import { startProgram } from "../program.ts";
import { judge, say, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { median, percentile } from "../statistics.ts";
import { childProgram, runTask } from "../task.ts";
import { addEndpoints, addEvents, attemptsOf, type Endpoint, fillLog } from "../webhook-scene.ts";
import type { SinkStats } from "../webhook-sink-child.ts";

const endpointsOfLoad = 20;
const concurrency = endpointsOfLoad * 10;
const batchMs = 50;
const finishMsMax = 120_000;

interface Play {
  owner: pg.Client;
  endpoints: readonly Endpoint[];
  stats: () => Promise<SinkStats>;
  /** CPU milliseconds so far, of the service and of PostgreSQL. */
  cpu: () => readonly [number, number];
}

export async function webhooks(stage: Stage): Promise<void> {
  title("webhooks: every attempt recorded, against a loop of signed POSTs that records nothing");
  const sink = await startProgram(
    {
      command: stage.cores.onLoadCore(childProgram("webhook-sink-child.ts")),
      env: {},
      outputFile: stage.path("sink.log"),
    },
    /sink (\d+)/,
  );
  const { owner, settings, service: first } = await stage.scene("webhooks");
  await first.stop();
  const allowing = {
    ...settings,
    WEBHOOK_ALLOW_SUBNETS: "127.0.0.0/8",
  };
  const service = await stage.startService(allowing, "webhooks-allowing.log");
  const url = `http://127.0.0.1:${sink.captured}`;
  const names = Array.from({ length: endpointsOfLoad }, (_, n) => `hook-${n}`);
  const endpoints = await addEndpoints(owner, settings.BOOT_SECRET ?? "", names, (n) => `${url}/${n}`);
  const stats = async () => (await (await fetch(`${url}/stats`)).json()) as SinkStats;
  const cpu = () => [cpuMsOf(service.processId), cpuMsOf(stage.postgresId)] as const;
  const play: Play = { owner, endpoints, stats, cpu };

  const perSecond = await throughput(stage, play, Number(sink.captured));
  const rate = perSecond / 2;
  await latency(stage, play, rate);
  const bad = await addEndpoints(owner, settings.BOOT_SECRET ?? "", ["hanging", "refusing"], (n) =>
    n === 0 ? `${url}/hang` : "http://127.0.0.1:9/",
  );
  await neighbours(stage, play, bad, rate);
  await service.stop();
  await flatness(stage, play);
  await sink.stop();
}

/** @returns recorded deliveries a second */
async function throughput(
  stage: Stage,
  { owner, endpoints, stats, cpu }: Play,
  port: number,
): Promise<number> {
  const events = stage.pick(20_000, 4_000, 200);
  const warmUpEach = stage.pick(500, 500, 5);
  // Both sides are measured warm.
  await addEvents(owner, endpoints, warmUpEach);
  await recorded(owner, warmUpEach * endpoints.length);
  const ratios: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < Math.min(3, stage.rounds); round++) {
    const job: BareWebhooksJob = { port, posts: events, endpoints: endpointsOfLoad, concurrency };
    const bare = await runTask<BareWebhooksResult>(childProgram("bare-webhooks-child.ts"), job);
    await stats();
    const before = await attemptsOf(owner);
    await addEvents(owner, endpoints, events / endpoints.length);
    const startedAt = performance.now();
    const [ownBefore, serverBefore] = cpu();
    await recorded(owner, before + events);
    const seconds = (performance.now() - startedAt) / 1000;
    const [own, server] = cpu();
    const { messages, requests } = await stats();
    if (messages !== events || requests !== events)
      throw new Error(`${messages} messages in ${requests} requests`);
    const [mine, theirs] = [events / seconds, (bare.posts * 1000) / bare.ms];
    say(`told and recorded: ${Math.round(mine)}/s, bare POSTs ${Math.round(theirs)}/s`);
    const [ownUs, serverUs] = [own - ownBefore, server - serverBefore].map((ms) => (ms / events) * 1000);
    say(`CPU each: service ${ownUs?.toFixed(0)} us, PostgreSQL ${serverUs?.toFixed(0)} us`);
    ratios.push(mine / theirs);
    rates.push(mine);
  }
  const claim = `${events} events to ${endpointsOfLoad} endpoints, all attempts recorded, per second against bare POSTs`;
  judge({ claim, measured: median(ratios), sense: "at least", bound: 0.35, unit: "×" });
  return median(rates);
}

async function recorded(owner: pg.Client, count: number): Promise<void> {
  const deadline = performance.now() + finishMsMax;
  while ((await attemptsOf(owner)) < count) {
    if (performance.now() > deadline) throw new Error("not all was recorded in time");
    await delay(20);
  }
}

/** Events at a steady rate; @returns how old they were when they first came */
async function steady(
  play: Play,
  bad: readonly Endpoint[],
  rate: number,
  seconds: number,
): Promise<number[]> {
  const { owner, endpoints, stats } = play;
  await stats();
  const each = Math.max(1, Math.round((rate * batchMs) / 1000 / endpoints.length));
  const startedAt = performance.now();
  for (let batch = 0; batch * batchMs < seconds * 1000; batch++) {
    await addEvents(owner, endpoints, each);
    if (bad.length > 0) await addEvents(owner, bad, 1);
    await delay(Math.max(0, startedAt + (batch + 1) * batchMs - performance.now()));
  }
  const total = each * endpoints.length * Math.ceil((seconds * 1000) / batchMs);
  const came: number[] = [];
  for (const deadline = performance.now() + finishMsMax; came.length < total; ) {
    if (performance.now() > deadline) throw new Error("not all came in time");
    await delay(100);
    came.push(...(await stats()).latenciesMs);
  }
  return came;
}

async function latency(stage: Stage, play: Play, rate: number): Promise<void> {
  const ages = await steady(play, [], rate, stage.pick(10, 3, 0.5));
  say(`at ${Math.round(rate)}/s: p50 ${percentile(ages, 50)} ms, p95 ${percentile(ages, 95)} ms`);
  const claim = "event to first attempt at half load, p95";
  judge({ claim, measured: percentile(ages, 95) / 1000, sense: "at most", bound: 1, unit: "s" });
}

async function neighbours(stage: Stage, play: Play, bad: readonly Endpoint[], rate: number): Promise<void> {
  const seconds = stage.pick(6, 3, 0.5);
  const ratios: number[] = [];
  for (let round = 0; round < Math.min(3, stage.rounds); round++) {
    const alone = percentile(await steady(play, [], rate / 2, seconds), 95);
    const beside = percentile(await steady(play, bad, rate / 2, seconds), 95);
    say(`p95 alone ${alone} ms, beside one that hangs and one that refuses ${beside} ms`);
    ratios.push(beside / alone);
  }
  const claim = "p95 of the others beside a hanging and a refusing endpoint";
  judge({ claim, measured: median(ratios), sense: "at most", bound: 1.2, unit: "×" });
}

/** Buffers that reading 100 due deliveries of each endpoint touches, before and after the log has grown. */
async function flatness(stage: Stage, { owner, endpoints }: Play): Promise<void> {
  const count = stage.pick(1_000_000, 100_000, 2_000);
  await owner.query("delete from deliveries");
  await owner.query(
    `insert into deliveries (tenant_id, target_id, event_id, seq, kind, payload, occurred_at, due_at)
     select t.tenant_id, t.id, n, n, 'department.created', '{"department_id":1}', now(), now()
     from generate_series(1, 200) n, delivery_targets t where t.id = any($1)`,
    [endpoints.map(({ id }) => id)],
  );
  await owner.query("vacuum (analyze) deliveries");
  const before = await explainDue(owner, endpoints);
  await fillLog(owner, endpoints, count);
  const after = await explainDue(owner, endpoints);
  say(after.plan);
  say(`buffers: ${before.buffers} with an empty log, ${after.buffers} with ${count} deliveries in it`);
  const claim = `buffers that reading what is due touches, with ${count} deliveries in the log`;
  judge({ claim, measured: after.buffers / before.buffers, sense: "at most", bound: 1.5, unit: "×" });
}

async function explainDue(
  owner: pg.Client,
  endpoints: readonly Endpoint[],
): Promise<{ plan: string; buffers: number }> {
  await owner.query("set plan_cache_mode = force_generic_plan");
  await owner.query(`prepare due (integer[], integer[], uuid[], integer) as ${dueText}`);
  const ids = (of: (endpoint: Endpoint) => number) => `'{${endpoints.map(of).join(",")}}'`;
  const { rows } = await owner.query<{ "QUERY PLAN": string }>(
    `explain (analyze, buffers, timing off) execute due (${ids(({ tenantId }) => tenantId)}, ${ids(({ id }) => id)}, '{}', 100)`,
  );
  await owner.query("deallocate due");
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
  const [, hit = "0"] = /Buffers: shared hit=(\d+)/.exec(plan) ?? [];
  const [, read = "0"] = /Buffers: shared[^\n]*? read=(\d+)/.exec(plan) ?? [];
  return { plan, buffers: Number(hit) + Number(read) };
}

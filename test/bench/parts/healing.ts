// `healing`: what looking for faults costs an installation at rest, with 1 000 tenants and 1 000 000 users, and how long mending
// takes. Each fault is looked for by the service's own job as often as its interval says; what a look costs is counted as CPU of
// service and PostgreSQL over many looks, above what both use at rest, and divided by the interval. How long mending takes is
// in healing-times.ts.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { catalogue } from "../../../mixins/healing/catalogue.ts";
import { cpuMsOf } from "../cpu.ts";
import { addUsers, createTenants } from "../fill.ts";
import { judge, say, title } from "../report.ts";
import type { Scene, Stage } from "../stage.ts";
import { timesToHeal } from "./healing-times.ts";

const intervals = [...new Set(catalogue.map(({ everyMinutes }) => everyMinutes))].sort((a, b) => a - b);
const lookMsMax = 180_000;
/** A look that had no time for all is followed by another. */
const lookAgainMs = 10_000;
const pollMs = 100;
/** Of one core, all detectors together. */
const shareMax = 0.01;

export async function healing(stage: Stage): Promise<void> {
  const tenants = stage.pick(1_000, 100, 10);
  const users = stage.pick(1_000, 1_000, 20);
  title(`healing: ${tenants} tenants, ${tenants * users} users, at rest`);
  const scene = await stage.scene("healing");
  const { owner } = scene;
  const made = await createTenants(
    owner,
    Array.from({ length: tenants }, (_, at) => `clinic-${at}`),
  );
  await addUsers(owner, made, users);
  // The rows have no log of their making, as the triggers were off: the proofs begin with what is there.
  await holdClock(owner);
  await lookOnce(
    owner,
    catalogue.map(({ code }) => code),
  );
  await costOfLooks(stage, scene);
  await scene.service.stop();
  await timesToHeal(stage, { holdClock, lookOnce });
}

async function costOfLooks(stage: Stage, scene: Scene): Promise<void> {
  const { owner } = scene;
  const used = () => cpuMsOf(scene.service.processId) + cpuMsOf(stage.postgresId);
  const restMs = stage.pick(30_000, 10_000, 500);
  await delay(stage.pick(10_000, 3_000, 0));
  const before = used();
  await delay(restMs);
  const atRest = (used() - before) / restMs;
  say(`at rest, without looks: ${(atRest * 100).toFixed(2)} % of one core`);
  let perMinute = 0;
  for (const minutes of intervals) {
    const looks = stage.pick(20, 5, 1);
    const [began, beganAt] = [used(), performance.now()];
    let isLooked = true;
    for (let look = 0; look < looks && isLooked; look++) isLooked = await lookOnce(owner, codesOf(minutes));
    // Told as missed: what does not come to an end costs too much.
    if (!isLooked) perMinute = Number.POSITIVE_INFINITY;
    const ms = Math.max(0, used() - began - atRest * (performance.now() - beganAt)) / looks;
    const many = catalogue.filter(({ everyMinutes }) => everyMinutes === minutes).length;
    say(`${many} faults each ${minutes} min: ${ms.toFixed(1)} ms of CPU a look`);
    perMinute += ms / minutes;
  }
  say(`together ${perMinute.toFixed(1)} ms of CPU a minute`);
  judge({
    claim: "all detectors at their intervals, share of one core",
    measured: (perMinute / 60_000) * 100,
    sense: "at most",
    bound: shareMax * 100,
    unit: "%",
  });
}

/** The clock's looks were begun already, as far as their rows say, so that this program alone begins any. */
const holdClock = (owner: pg.Client) =>
  owner.query(
    `insert into schedule_occurrences (task, due)
     select 'self-healing.look', date_trunc('minute', now()) + n * interval '1 minute' from generate_series(0, 180) n
     on conflict do nothing`,
  );

/** The service's own job looks for these faults, and for no other. @returns whether it did in time */
async function lookOnce(owner: pg.Client, codes: readonly string[]): Promise<boolean> {
  await owner.query(
    `insert into fault_looks (code, looked_at, found, duration_ms) select unnest($1::text[]), now(), 0, 0
     on conflict (code) do update set looked_at = excluded.looked_at`,
    [catalogue.map(({ code }) => code)],
  );
  const { rows } = await owner.query<{ now: string }>(
    "with due as (update fault_looks set looked_at = now() - interval '1 day' where code = any($1)) select now()::text as now",
    [codes],
  );
  const deadline = performance.now() + lookMsMax;
  let askAt = 0;
  for (;;) {
    if (performance.now() >= askAt) {
      askAt = performance.now() + lookAgainMs;
      await owner.query(
        "select graphile_worker.add_job('self-healing.look', job_key := 'bench', queue_name := 'self-healing.look')",
      );
    }
    const { rows: looked } = await owner.query<{ looks: number }>(
      "select count(*)::integer as looks from fault_looks where code = any($1) and looked_at >= $2::timestamptz",
      [codes, rows[0]?.now],
    );
    if (looked[0]?.looks === codes.length) return true;
    if (performance.now() > deadline) return false;
    await delay(pollMs);
  }
}

const codesOf = (minutes: number) =>
  catalogue.filter(({ everyMinutes }) => everyMinutes === minutes).map(({ code }) => code);

// `healing`: what looking for faults costs an installation at rest, with 1 000 tenants and 1 000 000 users, and how long mending
// takes. Each fault is looked for by the service's own job as often as its interval says; what a look costs is counted as CPU of
// service and PostgreSQL over many looks, above what both use at rest, and divided by the interval.
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { catalogue } from "../../../services/shared/healing/catalogue.ts";
import { hashOf } from "../../../services/self-healing/fix-row.ts";
import { cpuMsOf } from "../cpu.ts";
import { addUsers, createTenants } from "../fill.ts";
import { judge, say, title } from "../report.ts";
import type { Scene, Stage } from "../stage.ts";

const intervals = [...new Set(catalogue.map(({ everyMinutes }) => everyMinutes))].sort((a, b) => a - b);
const lookMsMax = 60_000;
const pollMs = 100;
/** Of one core, all detectors together. */
const shareMax = 0.01;
const healMsMax = 5_000;

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
  await lookOnce(owner, intervals);
  await costOfLooks(stage, scene);
  await timeToHeal(stage, scene);
  await scene.service.stop();
}

async function costOfLooks(stage: Stage, scene: Scene): Promise<void> {
  const { owner } = scene;
  const used = () => cpuMsOf(scene.service.processId) + cpuMsOf(stage.postgresId);
  const restMs = stage.pick(30_000, 10_000, 500);
  await nothingDue(owner);
  await delay(stage.pick(10_000, 3_000, 0));
  const before = used();
  await delay(restMs);
  const atRest = (used() - before) / restMs;
  say(`at rest, without looks: ${(atRest * 100).toFixed(2)} % of one core`);
  let perMinute = 0;
  for (const minutes of intervals) {
    const looks = stage.pick(20, 5, 1);
    const [began, beganAt] = [used(), performance.now()];
    for (let look = 0; look < looks; look++) await lookOnce(owner, [minutes]);
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

const nothingDue = (owner: pg.Client) =>
  owner.query("update fault_looks set looked_at = now() + interval '1 day'");

/** The service's own job looks for the faults of these intervals, and for no other. */
async function lookOnce(owner: pg.Client, minutes: readonly number[]): Promise<void> {
  const codes = catalogue
    .filter(({ everyMinutes }) => minutes.includes(everyMinutes))
    .map(({ code }) => code);
  await owner.query(
    `insert into fault_looks (code, looked_at, found, duration_ms)
     select unnest($1::text[]), now() + interval '1 day', 0, 0
     on conflict (code) do update set looked_at = excluded.looked_at`,
    [catalogue.map(({ code }) => code)],
  );
  const { rows } = await owner.query<{ now: string }>(
    "with due as (update fault_looks set looked_at = now() - interval '1 day' where code = any($1)) select now()::text as now",
    [codes],
  );
  await owner.query(
    "select graphile_worker.add_job('self-healing.look', job_key := 'bench', queue_name := 'self-healing.look')",
  );
  await until(async () => {
    const { rows: looked } = await owner.query<{ looks: number }>(
      "select count(*)::integer as looks from fault_looks where code = any($1) and looked_at >= $2::timestamptz and looked_at < now() + interval '1 hour'",
      [codes, rows[0]?.now],
    );
    return looked[0]?.looks === codes.length;
  });
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + lookMsMax;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error("a look took longer than a minute");
    await delay(pollMs);
  }
}

/** What can be broken by a statement; the others are timed by the tests (test/self-healing). */
const breaks = {
  user_counts_differ: `update user_counts set users = users + 3 where (tenant_id, role, is_active) in
    (select tenant_id, role, is_active from user_counts limit 1)`,
  job_gave_up: `select graphile_worker.add_job('users.purge', run_at := now() + interval '1 day', job_key := 'spent');
    update graphile_worker._private_jobs set attempts = max_attempts where key = 'spent'`,
  freeze_left_behind: `insert into tenant_freezes (tenant_id, job_id, until)
    select max(id), gen_random_uuid(), now() - interval '20 minutes' from tenants`,
  expired_rows_pile_up: "insert into rate_limits (key, points, expire) values ('old', 1, 1000)",
} as const;

/** From the moment of the break to the silence of the detector, where somebody looks at once. */
async function timeToHeal(stage: Stage, { owner }: Scene): Promise<void> {
  for (const known of catalogue)
    if (known.remedy !== null)
      await owner.query(
        `insert into fixes (code, title, problem, remedy, risk, seeded_hash, status, confirmed_at)
         values ($1, $2, $3, $4, $5, $6, 'confirmed', now()) on conflict (code) where deleted_at is null
         do update set status = 'confirmed', confirmed_at = now()`,
        [known.code, known.title, known.problem, known.remedy, known.risk, hashOf(known)],
      );
  for (const [code, broken] of Object.entries(breaks)) {
    const minutes = catalogue.find((known) => known.code === code)?.everyMinutes ?? 1;
    const startedAt = performance.now();
    await owner.query(broken);
    // One look sees a part of the tenants only.
    await until(async () => {
      await lookOnce(owner, [minutes]);
      const { rows } = await owner.query("select from incidents where code = $1 and status = 'healed'", [
        code,
      ]);
      return rows.length > 0;
    });
    judge({
      claim: `${code}: broken, looked for at once, healed and verified`,
      measured: (performance.now() - startedAt) / 1000,
      sense: "at most",
      bound: (stage.size === "smallest" ? lookMsMax : healMsMax) / 1000,
      unit: "s",
    });
  }
}

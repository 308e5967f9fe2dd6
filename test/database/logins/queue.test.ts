// What a thief of one login can do to the jobs of other logins' services: the queue is shared, and whoever is in the
// database may notify its listeners.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { pino } from "pino";
import { JobRunner } from "../../../mixins/jobs/job-runner.ts";
import { connect, type Connected } from "../../../host/database/connect.ts";
import { provision } from "../../../host/database/provision.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { openScene, type Scene } from "../tenancy/scene.ts";
import { eventually, testSettings } from "../../support/service.ts";

const refused = "42501";
let scene: Scene;
let thief: pg.Client;
let support: Connected;
let running: JobRunner | undefined;

beforeAll(async () => {
  scene = await openScene(2);
  const { urlFor } = await provision({
    ownerUrl: scene.database.url,
    bootSecret: testSettings(scene.database)["BOOT_SECRET"] ?? "",
  });
  thief = new pg.Client({ connectionString: urlFor(["messenger", "webhooks"]) });
  await thief.connect();
  support = await connect({ url: urlFor(["audit"]), poolMax: 4, entities: [], statementTimeoutMs: 5_000 });
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await scene.owner.query("delete from graphile_worker._private_jobs");
  await scene.owner.query("delete from graphile_worker._private_job_queues");
});
afterAll(async () => {
  await thief.end();
  await support.close();
  await scene.stop();
});

/** Runs the jobs of `audit`, as its process does. @returns what has run */
async function runAudits(): Promise<string[]> {
  const ran: string[] = [];
  const log = pino({ level: "silent" });
  // All that the runner uses of a runtime.
  running = new JobRunner({ database: support.database, log } as Partial<Runtime> as Runtime);
  running.add({ "audit.checkpoint": (payload) => void ran.push((payload as { at: string }).at) });
  await add("first");
  await eventually(async () => ran.includes("first"));
  return ran;
}

const add = (at: string) =>
  support.database.pool.query(
    "select add_task('audit.checkpoint', json_build_object('at', $1::text), queue_name := 'audit.checkpoint')",
    [at],
  );

async function attempt(statement: string): Promise<unknown> {
  try {
    return (await thief.query(statement)).rowCount;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

describe("a thief of another login", () => {
  it("does not end the running of jobs by word of a migration that never was", async () => {
    const ran = await runAudits();
    for (const said of [`{"breaking": true, "migrationNumber": 9999}`, `{"breaking": "yes"}`, "{", ""])
      await thief.query("select pg_notify('worker:migrate', $1)", [said]);
    // Notifications come in order: by this one the others were heard.
    await add("second");
    await eventually(async () => ran.includes("second"));
    await add("third");
    await eventually(async () => ran.includes("third"));
    expect(process.exitCode ?? 0).toBe(0);
  });

  it.each(["null", "-1", `{"count": 1e308}`, `{"count": "many"}`, "{", "[]"])(
    "disturbs nothing by news of jobs that say %s",
    async (said) => {
      const ran = await runAudits();
      await thief.query("select pg_notify('jobs:insert', $1)", [said]);
      await add("second");
      await eventually(async () => ran.includes("second"));
    },
  );

  it("neither sees nor holds their queues", async () => {
    await add("first");
    const hold =
      "update graphile_worker._private_job_queues set locked_at = now() + interval '10 years', locked_by = 'thief'";
    expect(await attempt("select from graphile_worker._private_job_queues")).toBe(0);
    expect(await attempt(hold)).toBe(0);
    const ran = await runAudits();
    await eventually(async () => ran.length === 2);
  });

  it.each(["audit.checkpoint", "audit", "users.purge", "", "webhooksaudit.checkpoint"])(
    "puts no job of its own into the queue %s, where theirs would wait for it",
    async (queue) => {
      const put = `select add_task('webhooks.sweep', queue_name := '${queue}')`;
      expect(await attempt(put)).toBe(refused);
    },
  );

  it("puts its own jobs into queues of its own", async () => {
    expect(await attempt("select add_task('webhooks.sweep', queue_name := 'webhooks.sweep')")).toBe(1);
    expect(await attempt("select from graphile_worker._private_job_queues")).toBe(1);
  });
});

it("a queue that an earlier version has prepared gets the policies of this one", async () => {
  await scene.owner.query(`drop policy own on graphile_worker._private_job_queues;
    create policy seen on graphile_worker._private_job_queues to records_app using (true)`);
  await provision({
    ownerUrl: scene.database.url,
    bootSecret: testSettings(scene.database)["BOOT_SECRET"] ?? "",
  });
  const { rows } = await scene.owner.query(
    "select policyname as name from pg_policies where tablename = '_private_job_queues' order by 1",
  );
  expect(rows).toEqual([{ name: "internal" }, { name: "own" }]);
});

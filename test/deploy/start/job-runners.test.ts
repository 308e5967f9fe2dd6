// The durable jobs of all services of a process share its connections: few are held for listening, and every task is run.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import pg from "pg";
import { eventually, startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const ask = async (text: string, values: unknown[] = []) =>
  (await service.database.owner.query(text, values)).rows;

it("four connections listen: for mails, for the messenger, for backups, and for all the others", async () => {
  await eventually(async () => {
    const listening = await ask(
      "select pid from pg_stat_activity where datname = current_database() and query like 'LISTEN%jobs:insert%'",
    );
    return listening.length === 4;
  });
});

it("whatever is enqueued by the clock is run, whosever it is", async () => {
  const services = join(import.meta.dirname, "../../../services");
  const tasks = readdirSync(services, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".service.ts"))
    .flatMap((file) => {
      const schedules = /schedules: \{([^}]*)\}/.exec(readFileSync(join(services, file), "utf8"))?.[1] ?? "";
      return [...schedules.matchAll(/"([a-z_]+\.[a-z_]+)":/g)].map(([, name]) => name);
    });
  expect(tasks.length).toBeGreaterThanOrEqual(7);
  for (const task of tasks) await ask("select graphile_worker.add_job($1, max_attempts := 1)", [task]);
  await eventually(async () => (await ask("select from graphile_worker._private_jobs")).length === 0);
  expect(service.process.output()).not.toContain("job failed");
});

it("a connection that breaks while a job is said to have ended costs the process nothing, and the job ends", async () => {
  const { owner, url } = service.database;
  // The sweep stands still where it deletes old links, until its own row in the queue is held too.
  await owner.query("begin");
  await owner.query("lock table backup_tickets in share mode");
  const blocker = new pg.Client({ connectionString: url });
  await blocker.connect();
  try {
    const { rows } = await blocker.query("select (graphile_worker.add_job('backups.sweep')).id");
    const { id } = rows[0];
    await blocker.query("begin");
    const held =
      "select from graphile_worker._private_jobs where id = $1 and locked_at is not null for update";
    await eventually(async () => (await blocker.query(held, [id])).rowCount === 1);
    await owner.query("rollback");
    const stuck = `select pid from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))`;
    const pid = await eventually(async () => (await blocker.query(stuck)).rows[0]?.pid);
    await owner.query("select pg_terminate_backend($1)", [pid]);
    await blocker.query("commit");
    const left = "select from graphile_worker._private_jobs where id = $1";
    await eventually(async () => (await owner.query(left, [id])).rowCount === 0);
  } finally {
    await owner.query("rollback");
    await blocker.end();
  }
  expect(service.process.child.exitCode).toBeNull();
  expect((await service.call("GET", "/api/auth/tenants")).status).toBe(200);
});

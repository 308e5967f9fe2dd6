// The durable jobs of all services of a process share its connections: few are held for listening, and every task is run.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { eventually, startService, type TestService } from "../support/service.ts";

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
  const services = join(import.meta.dirname, "../../services");
  const tasks = readdirSync(services, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".service.ts"))
    .flatMap((file) => {
      const schedules = /schedules: \{([^}]*)\}/.exec(readFileSync(join(services, file), "utf8"))?.[1] ?? "";
      return [...schedules.matchAll(/"([a-z_]+\.[a-z_]+)":/g)].map(([, name]) => name);
    });
  expect(tasks.length).toBeGreaterThanOrEqual(7);
  for (const task of tasks) await ask("select graphile_worker.add_job($1, max_attempts := 1)", [task]);
  await eventually(async () => (await ask("select from graphile_worker._private_jobs")).length === 0, 15_000);
  expect(service.process.output()).not.toContain("job failed");
});

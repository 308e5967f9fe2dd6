// The whole service as the API's tests know it, but with a process and a database login for each service: what a service
// was not granted, no other lends it. `RECORDS_TEST_APART=1 npm test -- test/api -w 1` runs any test so; those that look at
// the one process itself have nothing to look at then.
import { appendFileSync } from "node:fs";
import { eachApart, startKinds } from "./logins.ts";
import { startNats } from "./nats.ts";
import { addressOf, callApi, eventually, type RunningProcess, runProcess } from "./service.ts";
import type { TestDatabase } from "./service.ts";

export async function startApart(
  database: TestDatabase,
  settings: Record<string, string>,
): Promise<RunningProcess> {
  const nats = await startNats();
  // Who has auth, tenants and users makes the first data.
  const seeding = runProcess(settings);
  await seeding.printed(/Records service is ready/);
  await seeding.stop();
  const { DATABASE_URL: _owners, PORT: _port, HOST: _host, ...rest } = settings;
  const env = { ...rest, NATS_URL: nats.url };
  const gateway = runProcess({ ...settings, NATS_URL: nats.url, SERVICES: "api-gateway" });
  const url = await addressOf(gateway);
  const services = await startKinds(database, eachApart, env);
  await eventually(async () => (await callApi(url, "GET", "/api/auth/tenants")).status === 200);
  const all = [gateway, ...services];
  const output = () => all.map((each) => each.output()).join("\n");
  return {
    ...gateway,
    output,
    async stop(signal) {
      const codes = await Promise.all(all.map((each) => each.stop(signal)));
      await nats.stop();
      const { rows } = await database.owner.query(
        "select action, target_id, changes from audit_entries where action like '%.altered' and changes->>'login' <> 'postgres'",
      );
      appendFileSync("/tmp/dbl/denied.log", `${JSON.stringify(rows)}\n`);
      for (const line of output().split("\n"))
        if (/permission denied|42501|is not this login's|must be/.test(line))
          appendFileSync("/tmp/dbl/denied.log", `${line}\n`);
      return codes[0] ?? null;
    },
  };
}

// The whole service as the API's tests know it, but with a process and a database login for each service: what a service
// was not granted, no other lends it. `RECORDS_TEST_APART=1 npm test -- test/api -w 1 --testTimeout=60000` runs any test so;
// those that look at the one process itself, or start a second one, are none for it.
import { eachApart, startKinds } from "./logins.ts";
import { startNats } from "./nats.ts";
import {
  addressOf,
  callApi,
  eventually,
  type RunningProcess,
  runProcess,
  type TestDatabase,
} from "./service.ts";

/** @returns the gateway's process, with what all of them print; stopping it fails when one missed a right */
export async function startApart(
  database: TestDatabase,
  settings: Record<string, string>,
): Promise<RunningProcess> {
  const nats = await startNats();
  const { DATABASE_URL: _owners, PORT: _port, HOST: _host, ...rest } = settings;
  const gateway = runProcess({ ...settings, NATS_URL: nats.url, SERVICES: "api-gateway" });
  const url = await addressOf(gateway);
  const services = await startKinds(database, eachApart, { ...rest, NATS_URL: nats.url });
  await eventually(async () => (await callApi(url, "GET", "/api/auth/tenants")).status === 200);
  const all = [gateway, ...services];
  const output = () => all.map((each) => each.output()).join("\n");
  return {
    ...gateway,
    output,
    async stop(signal) {
      const faults = [...missedRights(output()), ...(await traces(database))];
      const codes = await Promise.all(all.map((each) => each.stop(signal)));
      await nats.stop();
      if (faults.length > 0) throw new Error(`rights are missing:\n${faults.join("\n")}`);
      return codes[0] ?? null;
    },
  };
}

function missedRights(output: string): string[] {
  return output.split("\n").filter((line) => /permission denied|is not this login's|42501/.test(line));
}

/** Entries that the database had to write itself, as a service wrote none. */
async function traces({ owner }: TestDatabase): Promise<string[]> {
  const { rows } = await owner.query(
    "select * from audit_entries where action like '%.altered' and changes ->> 'login' <> current_user",
  );
  return rows.map((row) => JSON.stringify(row));
}

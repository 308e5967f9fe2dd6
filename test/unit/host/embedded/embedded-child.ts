// A process of its own for the tests that kill one: takes a data folder and, as told, locks it or starts its database,
// prints one line of JSON and waits to be killed; on an error it prints that and ends. A process that locks collects
// its garbage first, as every process does some time.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pg from "pg";
import { openDataDirectory } from "../../../../host/embedded/data-directory.ts";
import { startEmbeddedPostgres } from "../../../../host/embedded/postgres.ts";

const [command, dataDir = "", password = ""] = process.argv.slice(2);

async function run(): Promise<object> {
  if (command === "lock") return { path: (await openDataDirectory(dataDir)).path };
  const directory = await openDataDirectory(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, password, log: () => undefined });
  if (command === "start-and-stop") {
    await server.stop();
    await directory.release();
    return { stopped: true };
  }
  const client = new pg.Client(server.url("postgres"));
  await client.connect();
  await client.query("CREATE TABLE kept (id int PRIMARY KEY)");
  await client.query("INSERT INTO kept SELECT generate_series(1, 100)");
  return { postmaster: server.processId };
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
}

try {
  const answer = await run();
  if (command === "lock") collectGarbage();
  console.log(JSON.stringify(answer));
  if (command !== "start-and-stop") setInterval(() => undefined, 60_000);
} catch (error) {
  console.log(
    JSON.stringify(error instanceof Error ? { name: error.name, message: error.message } : { error }),
  );
  process.exitCode = 1;
}

// A test file that never ends, for leftovers.test.ts: it has started a service on its database and a process that may
// be deaf to SIGTERM, says so by a file, and holds.
import { spawn } from "node:child_process";
import { realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, it } from "@jest/globals";
import { startService, type TestService } from "../../service.ts";

let service: TestService;
afterAll(() => service.stop());

it("holds", async () => {
  service = await startService();
  const deaf = process.env["HOLDS_DEAF"] === "true" ? "process.on('SIGTERM', () => 0);" : "";
  const other = spawn(process.execPath, ["-e", `${deaf} setInterval(() => 0, 1e6)`], { stdio: "ignore" });
  const { process: running, database } = service;
  await writeFile(
    process.env["HOLDS_FILE"] ?? "",
    JSON.stringify({
      worker: process.pid,
      pids: [running.child.pid, database.postgres.processId, other.pid],
      folders: [database.folder, await realpath(join(database.folder, "postgres"))],
    }),
  );
  await new Promise(() => undefined);
});

// A test file that passes and forgets a process, for leftovers.test.ts.
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { expect, it } from "@jest/globals";

it("passes", async () => {
  const { pid } = spawn(process.execPath, ["-e", "setInterval(() => 0, 1e6)", "forgotten"], {
    stdio: "ignore",
  });
  expect(pid).toBeDefined();
  await writeFile(process.env["HOLDS_FILE"] ?? "", JSON.stringify({ pids: [pid] }));
});

// Start-up: from the command to the ready message, with everything embedded: the very first start on an empty data
// folder (the database is made, migrated and seeded), and a later one.
import { rm } from "node:fs/promises";
import { judge, say, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";

export async function startUp(stage: Stage): Promise<void> {
  title("start-up: from the command to the ready message");
  const first: number[] = [];
  const later: number[] = [];
  for (let round = 0; round < stage.rounds; round++) {
    const folder = stage.path("start-up-data");
    await rm(folder, { recursive: true, force: true });
    first.push(await startOnce(stage, folder));
    later.push(await startOnce(stage, folder));
  }
  say(`first start ${median(first).toFixed(2)} s, later start ${median(later).toFixed(2)} s`);
  judge({ claim: "first start", measured: median(first), sense: "at most", bound: 60, unit: "s" });
  judge({ claim: "later start", measured: median(later), sense: "at most", bound: 5, unit: "s" });
}

async function startOnce(stage: Stage, folder: string): Promise<number> {
  const service = await stage.startService(
    { DATA_DIR: folder, PORT: "0", DEMO_MODE: "true" },
    "start-up.log",
  );
  await service.stop();
  return service.readyMs / 1000;
}

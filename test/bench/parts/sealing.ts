// Sealing: the service's own code for a field of 1 kB against node:crypto's AES-256-GCM alone, on one core.
import { judge, say, title } from "../report.ts";
import type { SealingJob, SealingResult } from "../sealing-child.ts";
import type { Stage } from "../stage.ts";
import { median } from "../statistics.ts";
import { childProgram, runTask } from "../task.ts";

export async function sealing(stage: Stage): Promise<void> {
  title("sealing: fields of 1 kB against raw AES-256-GCM");
  const job: SealingJob = { rounds: stage.rounds, seconds: stage.roundSeconds / 3 };
  const result = await runTask<SealingResult>(childProgram("sealing-child.ts"), job);
  for (const [what, ours, raw] of [
    ["sealing", result.sealed, result.rawSealed],
    ["opening", result.opened, result.rawOpened],
  ] as const) {
    say(`${what}: ${Math.round(median(ours))}/s, raw ${Math.round(median(raw))}/s`);
    const measured = median(ours.map((each, round) => each / (raw[round] ?? Number.NaN)));
    judge({
      claim: `${what} a field of 1 kB against raw AES-GCM`,
      measured,
      sense: "at least",
      bound: 0.7,
      unit: "×",
    });
  }
}

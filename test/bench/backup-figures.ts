// What the sections of the backups' part say and judge alike.
import { judge } from "./report.ts";
import type { Stage } from "./stage.ts";
import { median } from "./statistics.ts";

const memoryMbMax = 64;
const roundsMax = 3;

export async function inRounds<T>(stage: Stage, work: () => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let round = 0; round < Math.min(roundsMax, stage.rounds); round++) all.push(await work());
  return all;
}

export const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
export const middle = <T>(all: readonly T[], of: (each: T) => number) => median(all.map(of));

export function judgeMemory(what: string, measured: number): void {
  judge({ claim: `memory above rest, ${what}`, measured, sense: "at most", bound: memoryMbMax, unit: "MB" });
}

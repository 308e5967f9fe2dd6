// Sides measured in turn: A B A B …, so that a noisy minute falls on both, each round with its CPU.
import { cpuMsOf } from "./cpu.ts";
import type { LoadResult } from "./load.ts";
import { median } from "./statistics.ts";

export interface Sample {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Per request: the program's own processes, and PostgreSQL's. */
  programMs: number;
  postgresMs: number;
}

export interface Side {
  name: string;
  processId: number;
  /** Others that work for it: their CPU is the program's too. */
  besides?: readonly number[];
  load: (seconds: number) => Promise<LoadResult>;
}

export interface Plan {
  postgresId: number;
  rounds: number;
  seconds: number;
}

/** @returns for each side its samples, in the order of the rounds; every answer must have been a success */
export async function inTurn(sides: readonly Side[], plan: Plan): Promise<Sample[][]> {
  for (const side of sides) await side.load(Math.min(2, plan.seconds));
  const samples: Sample[][] = sides.map(() => []);
  for (let round = 0; round < plan.rounds; round++) {
    for (const [index, side] of sides.entries()) samples[index]?.push(await sampleOf(side, plan));
  }
  return samples;
}

export async function sampleOf(side: Side, plan: Plan): Promise<Sample> {
  const programMs = () =>
    [side.processId, ...(side.besides ?? [])].reduce((sum, processId) => sum + cpuMsOf(processId), 0);
  const [programBefore, postgresBefore] = [programMs(), cpuMsOf(plan.postgresId)];
  const { requests, seconds, p50Ms, p99Ms, failed } = await side.load(plan.seconds);
  const [program, postgres] = [programMs(), cpuMsOf(plan.postgresId)];
  if (failed > 0 || requests === 0) throw new Error(`${side.name}: ${failed} of ${requests} requests failed`);
  return {
    perSecond: requests / seconds,
    p50Ms,
    p99Ms,
    programMs: (program - programBefore) / requests,
    postgresMs: (postgres - postgresBefore) / requests,
  };
}

export function medians(samples: readonly Sample[]): Sample {
  const of = (key: keyof Sample) => median(samples.map((sample) => sample[key]));
  return {
    perSecond: of("perSecond"),
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    programMs: of("programMs"),
    postgresMs: of("postgresMs"),
  };
}

export const cpuOf = (sample: Sample) => sample.programMs + sample.postgresMs;

/** The median of the rounds' own ratios: neighbours in time are compared, not the best with the worst minute. */
export function ratio(
  dividends: readonly Sample[],
  divisors: readonly Sample[],
  of: (sample: Sample) => number,
): number {
  return median(
    dividends.flatMap((sample, round) => {
      const divisor = divisors[round];
      return divisor === undefined ? [] : [of(sample) / of(divisor)];
    }),
  );
}

// Sign-in: CPU per sign-in against the bare argon2 check, which is its floor, and against the bare program. A fixed
// number of sign-ins of different users, all answered: with a time limit, hashes begun and not answered would count.
import type { FloorResult } from "../floor.ts";
import { bareOf, barePaths, homeOf, homeSubdomain, servicePaths } from "../home.ts";
import { cpuOf, medians, ratio, type Sample, sampleOf, type Side } from "../measure.ts";
import { judge, say, table, title } from "../report.ts";
import type { Stage } from "../stage.ts";
import { childProgram, runTask } from "../task.ts";
import { signInRequest } from "../tenant-clients.ts";

const signInsAtOnce = 4;
const firstUser = 100;

export async function signIn(stage: Stage): Promise<void> {
  title("sign-in: CPU against the bare argon2id check (19 MiB, 2 passes, 1 lane)");
  const count = stage.pick(60, 30, 4);
  const home = await homeOf(stage);
  const bare = await bareOf(stage);
  const ours: Side = side(stage, "service", home.service.processId, home.url, servicePaths.login, count);
  const theirs: Side = side(stage, "bare", bare.processId, bare.url, barePaths.login, count);
  const samples: { ours: Sample[]; theirs: Sample[]; floor: Sample[] } = { ours: [], theirs: [], floor: [] };
  const plan = { postgresId: stage.postgresId, rounds: stage.rounds, seconds: 0 };
  // Some hundred, before what runs between the hashes is compiled.
  for (let round = 0; round < stage.pick(5, 5, 1); round++)
    for (const warmUp of [ours, theirs]) await warmUp.load(0);
  for (let round = 0; round < stage.rounds; round++) {
    samples.ours.push(await sampleOf(ours, plan));
    samples.floor.push(await floorOf(count));
    samples.theirs.push(await sampleOf(theirs, plan));
  }
  table([
    ["service", samples.ours],
    ["bare Fastify + pg", samples.theirs],
  ]);
  say(`bare argon2id check: ${medians(samples.floor).programMs.toFixed(2)} ms of CPU each`);
  say(`CPU per sign-in: ${ratio(samples.ours, samples.theirs, cpuOf).toFixed(2)} × the bare program's`);
  judge({
    claim: "sign-in, CPU against the bare argon2 check",
    measured: ratio(samples.ours, samples.floor, cpuOf),
    sense: "at most",
    bound: 1.1,
    unit: "×",
  });
}

function side(stage: Stage, name: string, processId: number, url: string, path: string, count: number): Side {
  const requests = Array.from({ length: count }, (_, index) =>
    signInRequest(path, homeSubdomain, firstUser + index),
  );
  return {
    name,
    processId,
    async load() {
      const job = { kind: "each", url, requests, connections: signInsAtOnce } as const;
      const { answered, ...rest } = await stage.load.clients(job).result;
      return { ...rest, requests: answered };
    },
  };
}

/** On the server's core, like what it is compared with. */
async function floorOf(checks: number): Promise<Sample> {
  const { cpuMsEach } = await runTask<FloorResult>(childProgram("floor.ts"), { checks });
  return {
    perSecond: 1000 / cpuMsEach,
    p50Ms: cpuMsEach,
    p99Ms: cpuMsEach,
    programMs: cpuMsEach,
    postgresMs: 0,
  };
}

// A child process: nothing but argon2id checks, one after another, at the service's own cost: the floor under any
// sign-in. Prints the CPU milliseconds of one.
import { argon2Sync, randomBytes } from "node:crypto";
import { currentCost, saltBytes, tagBytes } from "../../services/shared/passwords/phc.ts";
import { readJob } from "./task.ts";

interface FloorJob {
  checks: number;
}
export interface FloorResult {
  cpuMsEach: number;
}

const { checks } = await readJob<FloorJob>();
const { memoryKib: memory, passes, lanes: parallelism } = currentCost;
const nonce = randomBytes(saltBytes);
const check = () =>
  argon2Sync("argon2id", { message: "a password", nonce, memory, passes, parallelism, tagLength: tagBytes });

for (let n = 0; n < 3; n++) check();
const before = process.cpuUsage();
for (let n = 0; n < checks; n++) check();
const { user, system } = process.cpuUsage(before);
const result: FloorResult = { cpuMsEach: (user + system) / 1000 / checks };
process.stdout.write(JSON.stringify(result));

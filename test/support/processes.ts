// Which processes a test has started and whether they are gone, by their own ids: read from /proc, so Linux only.
import { readdir, readFile } from "node:fs/promises";
import { commandLine } from "./descendants.ts";
import { eventually } from "./service.ts";

/** Of all processes, their words apart by spaces. Slim machines have no `ps`. */
export async function commandLines(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map(commandLine));
}

/** Resolves when all of them have ended; rejects after a minute. */
export async function allGone(pids: readonly number[]): Promise<void> {
  await eventually(async () => (await Promise.all(pids.map(commandLine))).every((line) => line === ""));
}

/** Clock ticks of /proc are hundredths of a second on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** CPU time that the process itself has used so far, in user and kernel mode. It does not grow while others keep the machine busy. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // "pid (command) state ppid …": the 14th and 15th fields, and a command may hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

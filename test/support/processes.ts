// Which processes a test has started and whether they are gone, by their own ids: read from /proc, so Linux only.
import { readdir, readFile } from "node:fs/promises";
import { eventually } from "./service.ts";

/** Ids of all living descendants of `pid`, its own children first. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const parents = new Map<number, number>();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    // "pid (command) state ppid …", and a command may hold spaces and brackets.
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    const ppid = /^\d+ \(.*\) \S (\d+) /s.exec(stat)?.[1];
    if (ppid !== undefined) parents.set(Number(name), Number(ppid));
  }
  const found: number[] = [];
  for (let generation = [pid]; generation.length > 0; ) {
    generation = [...parents].filter(([, parent]) => generation.includes(parent)).map(([child]) => child);
    found.push(...generation);
  }
  return found;
}

/** Of all processes, their words apart by spaces. Slim machines have no `ps`. */
export async function commandLines(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const read = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => ""));
  return (await Promise.all(read)).map((line) => line.replaceAll("\0", " "));
}

/** An ended process that nobody has collected has an empty command line. */
async function isRunning(pid: number): Promise<boolean> {
  return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")) !== "";
}

/** Resolves when all of them have ended; rejects after 5 s. */
export async function allGone(pids: readonly number[]): Promise<void> {
  await eventually(async () => (await Promise.all(pids.map(isRunning))).every((running) => !running));
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

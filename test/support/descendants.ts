// Which processes descend from which, read from /proc: so on Linux only.
import { readdir, readFile } from "node:fs/promises";

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

/** Its words apart by spaces; empty for one that has ended, also when nobody has collected it yet. */
export async function commandLine(pid: number | string): Promise<string> {
  return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).replaceAll("\0", " ");
}

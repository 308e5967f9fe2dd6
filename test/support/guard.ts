// A process beside each process that runs tests: it is told what those start, and ends that when they are gone, however
// they went (a killed worker has no last word), and removes their databases. It knows by its standard input, which ends with
// whoever holds it.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { commandLine, descendantsOf } from "./descendants.ts";
import { folderPrefix, places } from "./folders.ts";

const lookEveryMs = 50;
/**
 * One signal after the other, each with its time: an orderly end first, which takes a service's own database along; then
 * what makes a database server end though somebody is connected.
 */
const steps = [
  ["SIGTERM", 4_000],
  ["SIGINT", 2_000],
  ["SIGQUIT", 2_000],
  ["SIGKILL", 2_000],
] as const;

/** Of what runs now, as said by lines "+<pid>" and "-<pid>". */
const started = new Set<number>();
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text: string) => {
  const lines = `${rest}${text}`.split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    const pid = Number(line.slice(1));
    if (line.startsWith("+")) started.add(pid);
    else started.delete(pid);
  }
});
let isEnding = false;
for (const end of ["end", "close", "error"])
  process.stdin.on(end, () => {
    if (isEnding) return;
    isEnding = true;
    void endAll();
  });
// Ctrl-C in a terminal is for whom it guards.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

const guarded = process.ppid;

async function endAll(): Promise<void> {
  const isGone = await endProcesses();
  for (const place of places()) {
    for (const name of await readdir(place).catch(() => [])) {
      if (name.startsWith(folderPrefix(guarded)))
        await rm(join(place, name), { recursive: true, force: true }).catch(() => undefined);
    }
  }
  process.exit(isGone ? 0 : 1);
}

/** @returns whether all of them are gone */
async function endProcesses(): Promise<boolean> {
  const all = new Set(started);
  for (const pid of started)
    for (const descendant of await descendantsOf(pid).catch(() => [])) all.add(descendant);
  const lines = await Promise.all([...all].map(async (pid) => [pid, await commandLine(pid)] as const));
  // The processes of a database server end with the first of them, and only so in order.
  const own = lines.filter(([, line]) => !line.startsWith("postgres: ")).map(([pid]) => pid);
  for (const [signal, msMax] of steps) {
    for (const pid of own) {
      send(pid, "SIGCONT");
      send(pid, signal);
    }
    for (const end = performance.now() + msMax; performance.now() < end; ) {
      if (!own.some(isAlive)) return true;
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  }
  return false;
}

const isAlive = (pid: number): boolean => send(pid, 0);

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

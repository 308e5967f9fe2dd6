// What processes have used so far, from /proc. Linux only, as is the bench.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

/** The kernel's USER_HZ: 100 on every Linux platform that Node runs on. */
const msPerTick = 10;

interface Stat {
  parent: number;
  /** All threads, ended ones too. */
  ownTicks: number;
  /** Of children that ended and were waited for. */
  reapedTicks: number;
}

function statOf(processId: number | string): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${processId}/stat`, "utf8");
    // The program's name stands in parentheses and may hold anything, so fields are counted from the last of them.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const at = (index: number) => Number(fields[index]);
    return { parent: at(1), ownTicks: at(11) + at(12), reapedTicks: at(13) + at(14) };
  } catch {
    return undefined; // It ended between the listing and the reading.
  }
}

export function childrenOf(processId: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && statOf(name)?.parent === processId)
    .map(Number);
}

/** CPU milliseconds of a process with all its threads and children, ended ones too: it only ever grows. */
export function cpuMsOf(processId: number): number {
  const root = statOf(processId);
  if (root === undefined) throw new Error(`process ${processId} has ended`);
  let ticks = root.ownTicks + root.reapedTicks;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const child = statOf(name);
    if (child?.parent === processId) ticks += child.ownTicks + child.reapedTicks;
  }
  return ticks * msPerTick;
}

/** Resident memory of one process, without its children. */
export function residentMbOf(processId: number): number {
  const [, kib = "0"] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${processId}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}

/** Begins to watch anew for the highest resident size. @returns what it is now */
export function resetResidentPeak(processId: number): number {
  writeFileSync(`/proc/${processId}/clear_refs`, "5");
  return residentMbOf(processId);
}

/** The highest resident size since the last reset. */
export function residentPeakMbOf(processId: number): number {
  const [, kib = "0"] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${processId}/status`, "utf8")) ?? [];
  return Number(kib) / 1024;
}

// How much memory a process holds, as the system counts it: from /proc, so Linux only.
import { readFile } from "node:fs/promises";

async function kilobytesOf(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const line = status.split("\n").find((each) => each.startsWith(`${field}:`)) ?? "";
  return Number(line.split(/\s+/)[1]);
}

/** The most it ever held, in MB: what a bound of its container would have met. */
export async function peakMegabytesOf(pid: number): Promise<number> {
  return (await kilobytesOf(pid, "VmHWM")) / 1024;
}

// How long something computes, however busy the machine is with other things.

/** @returns milliseconds of CPU that this process used meanwhile */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

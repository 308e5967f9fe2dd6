/** How long a process that is to stop waits: first for what is under way, then for its own closing. */
const drainMsMin = 10_000;
const closingMs = 20_000;

/** What was begun may take as long as the settings let a call take. */
export function drainMs({ requestTimeoutMs }: { requestTimeoutMs: number }): number {
  return Math.max(drainMsMin, requestTimeoutMs);
}

/** After that a process ends itself. Whoever stops it must wait longer: the charts and docker-compose.yml do. */
export function stopMsMax(config: { requestTimeoutMs: number }): number {
  return drainMs(config) + closingMs;
}

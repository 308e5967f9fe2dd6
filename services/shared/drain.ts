// How long a process that stops may take: first for calls that still run, then to close its own resources.

const drainMsMin = 10_000;
const closingMs = 20_000;

/** @returns milliseconds; calls that still run may take as long as the setting allows */
export function drainMs({ requestTimeoutMs }: { requestTimeoutMs: number }): number {
  return Math.max(drainMsMin, requestTimeoutMs);
}

/**
 * @returns milliseconds after which a process exits by force. An orchestrator must wait longer: the charts and docker-compose.yml
 * do.
 */
export function stopMsMax(config: { requestTimeoutMs: number }): number {
  return drainMs(config) + closingMs;
}

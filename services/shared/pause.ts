// Waiting that ends early, and without an error, when whoever waits is to stop.
import { setTimeout as delay } from "node:timers/promises";

/** Resolves after `ms`, or as soon as `signal` aborts; keeps no process alive. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

// A delay that ends early, without an error, when its caller must stop.
import { setTimeout as delay } from "node:timers/promises";

/** Resolves after `ms`, or as soon as `signal` fires. Does not keep the process alive. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

// What becomes of a delivery after a try.
import type { Attempt } from "./channel.ts";

const jitterShare = 0.2;
const retryAfterSecondsMax = 86_400;

export type Next =
  | { state: "succeeded" | "failed" | "canceled" }
  | { state: "pending"; delaySeconds: number };

/**
 * @param tries before this one, of the present cause
 * @param chance 0..1: spreads the retries of many deliveries that failed together
 */
export function nextOf(
  attempt: Pick<Attempt, "outcome" | "retryAfterSeconds">,
  tries: number,
  waitsSeconds: readonly number[],
  chance: number,
): Next {
  if (attempt.outcome === "delivered") return { state: "succeeded" };
  if (attempt.outcome === "withheld") return { state: "canceled" };
  const wait = waitsSeconds[tries + 1];
  if (attempt.outcome === "gone" || wait === undefined) return { state: "failed" };
  const jittered = wait * (1 + jitterShare * chance);
  const asked = Math.min(attempt.retryAfterSeconds ?? 0, retryAfterSecondsMax);
  return { state: "pending", delaySeconds: Math.max(jittered, asked) };
}

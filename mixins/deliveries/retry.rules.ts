// Decides the next state of a delivery after an attempt.
import type { Attempt } from "./channel.ts";

const jitterShare = 0.2;
const retryAfterSecondsMax = 86_400;

export type NextState =
  | { state: "succeeded" | "failed" | "canceled" }
  | { state: "pending"; delaySeconds: number };

/**
 * @param tries attempts before this one, for the present cause
 * @param chance random number from 0 to 1: spreads the retries of deliveries that failed together
 */
export function nextStateOf(
  attempt: Pick<Attempt, "outcome" | "retryAfterSeconds">,
  tries: number,
  waitsSeconds: readonly number[],
  chance: number,
): NextState {
  if (attempt.outcome === "delivered") return { state: "succeeded" };
  if (attempt.outcome === "withheld") return { state: "canceled" };
  const wait = waitsSeconds[tries + 1];
  if (attempt.outcome === "gone" || wait === undefined) return { state: "failed" };
  const jittered = wait * (1 + jitterShare * chance);
  const asked = Math.min(attempt.retryAfterSeconds ?? 0, retryAfterSecondsMax);
  return { state: "pending", delaySeconds: Math.max(jittered, asked) };
}

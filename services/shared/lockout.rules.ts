/**
 * Lock-out of one (tenant, e-mail): the tenth failure within 15 minutes locks for a minute; each failure after
 * a lock locks again for twice as long, up to 15 minutes. Success clears: drop the state. So a guesser gets 10
 * tries and then at most four an hour, and an owner who has forgotten waits a minute. Pure: the clock comes in.
 */

/** Plain JSON numbers, so that any store can keep it. Times are milliseconds since 1970. */
export interface LockoutState {
  readonly failures: number;
  readonly windowStartedAtMs: number;
  /** 0: not locked yet. */
  readonly lockedUntilMs: number;
  /** Length of the last lock; 0: none yet. */
  readonly lockSeconds: number;
}

const failuresMax = 10;
const windowMs = 15 * 60_000;
const firstLockSeconds = 60;
const lockSecondsMax = 15 * 60;

/** The state after one more failure; undefined stands for an account without failures. */
export function afterFailure(state: LockoutState | undefined, nowMs: number): LockoutState {
  if (!state || isForgotten(state, nowMs))
    return { failures: 1, windowStartedAtMs: nowMs, lockedUntilMs: 0, lockSeconds: 0 };
  // Checks that were under way when the lock fell: many at once must not double it many times.
  if (isLocked(state, nowMs)) return state;
  const failures = Math.min(state.failures + 1, failuresMax);
  if (failures < failuresMax) return { ...state, failures };
  const lockSeconds = Math.min(state.lockSeconds * 2 || firstLockSeconds, lockSecondsMax);
  return { ...state, failures, lockSeconds, lockedUntilMs: nowMs + lockSeconds * 1_000 };
}

/** Whether sign-in is refused unseen. A lock longer than the longest comes from a clock set back and is void. */
export function isLocked(state: LockoutState | undefined, nowMs: number): boolean {
  const leftMs = (state?.lockedUntilMs ?? 0) - nowMs;
  return leftMs > 0 && leftMs <= lockSecondsMax * 1_000;
}

/** 15 minutes after the window began or the last lock ended, nothing is held against the account any more. */
export function isForgotten(state: LockoutState, nowMs: number): boolean {
  if (isLocked(state, nowMs)) return false;
  return Math.abs(nowMs - Math.max(state.windowStartedAtMs, state.lockedUntilMs)) >= windowMs;
}

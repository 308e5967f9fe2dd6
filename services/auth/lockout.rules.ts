// Limits on guessing passwords that do not lock out the owner of an account.
//
// A sign-in comes from an origin: a device with a valid hint, otherwise a client address. An account knows
// the origins that it signed in from before. A failure is added to up to three counts. When one of them is
// full, the password is not checked.
//   1. One origin and this account: ten failures within 15 minutes lock the origin for a minute. Each further
//      failure doubles the lock, up to 15 minutes. At most 100 failures a day.
//   2. All origins together that the account does not know: 100 failures a day.
//   3. The address, over all accounts that do not know it: a maximum per day that is derived from the rate
//      limit.
// For an origin that the account knows, only the first count applies, so strangers cannot use up its
// attempts. A successful sign-in ends the lock of its origin but does not reduce a daily count. Otherwise the
// owner's sign-ins would give new guesses to an attacker behind the same address.
//
//   failure                            tenth within 15 minutes
//   open ─────────► open, counted ──────────────────────────────► locked 60 s, 120 s, … 900 s ──► open, next failure locks
//     ▲                  │  15 minutes without a lock, or success                   │
//     └──────────────────┴──────────────────────────────────────────────────────────┘   daily count full: refused until it falls
//
// Pure functions: the time is a parameter and no storage is accessed.
import { increment, type Tally, countOfLastDay } from "./tally.rules.ts";

/** Times are in milliseconds since 1970. */
export interface OriginCount {
  readonly origin: string;
  readonly failures: number;
  readonly windowStartedAtMs: number;
  /** 0 when never locked. */
  readonly lockedUntilMs: number;
  /** Length of the last lock; 0 when there was none. */
  readonly lockSeconds: number;
  readonly day: Tally;
}

/** The failure counts of one account. Plain JSON. */
export interface AccountCounts {
  /** Failures from origins that the account did not know. */
  readonly strangers: Tally;
  readonly origins: readonly OriginCount[];
}

export interface Attempt {
  readonly origin: string;
  /** Whether the account has signed in from this origin before. */
  readonly known: boolean;
  readonly nowMs: number;
}

/**
 * "open": the password decides. Otherwise the sign-in is refused without checking the password, for this
 * reason.
 */
export type LockoutState = "open" | "locked_out" | "account_spent" | "address_spent";

const failuresMax = 10;
const windowMs = 15 * 60_000;
const firstLockSeconds = 60;
const lockSecondsMax = 15 * 60;
/** Failures per day of one origin for one account. */
export const originFailuresPerDay = 100;
/** Failures per day of all origins together that the account does not know. */
export const strangersFailuresPerDay = 100;
export const devicePrefix = "device:";
/** Only a client that has signed in gets a device hint, but it may collect many. */
const devicesMax = 20;

/**
 * Decides whether the password of this attempt is checked.
 * @param address today's failures of the client's address with accounts that do not know it
 * @param addressMax the maximum of these per day
 */
export function lockoutStateOf(
  account: AccountCounts | undefined,
  address: Tally,
  addressMax: number,
  attempt: Attempt,
): LockoutState {
  const { nowMs } = attempt;
  const count = countOf(account, attempt.origin);
  if (isLocked(count, nowMs)) return "locked_out";
  if (count !== undefined && countOfLastDay(count.day, nowMs) >= originFailuresPerDay) return "locked_out";
  if (attempt.known) return "open";
  if (countOfLastDay(account?.strangers ?? [], nowMs) >= strangersFailuresPerDay) return "account_spent";
  return countOfLastDay(address, nowMs) >= addressMax ? "address_spent" : "open";
}

/** The counts after a wrong password that was checked. */
export function afterFailure(account: AccountCounts | undefined, attempt: Attempt): AccountCounts {
  const { origin, known, nowMs } = attempt;
  const failed = originAfterFailure(countOf(account, origin) ?? newOriginCount(origin, nowMs), nowMs);
  const others = activeOrigins(account, nowMs).filter((each) => each.origin !== origin);
  const strangers = account?.strangers ?? [];
  return {
    strangers: known ? strangers : increment(strangers, nowMs),
    origins: withoutOldDevices([...others, failed]),
  };
}

/** The counts after a successful sign-in; undefined when nothing is left to count. */
export function afterSuccess(
  account: AccountCounts | undefined,
  { origin, nowMs }: Attempt,
): AccountCounts | undefined {
  if (account === undefined) return undefined;
  const cleared = account.origins.map((count) =>
    count.origin === origin ? { ...newOriginCount(origin, nowMs), day: count.day } : count,
  );
  const origins = activeOrigins({ ...account, origins: cleared }, nowMs);
  const strangers = countOfLastDay(account.strangers, nowMs) > 0 ? account.strangers : [];
  return origins.length === 0 && strangers.length === 0 ? undefined : { strangers, origins };
}

/**
 * Whether the origin is locked now. A lock longer than the maximum results from a clock that was set back; it
 * is ignored.
 */
export function isLocked(count: OriginCount | undefined, nowMs: number): boolean {
  const leftMs = (count?.lockedUntilMs ?? 0) - nowMs;
  return leftMs > 0 && leftMs <= lockSecondsMax * 1_000;
}

function originAfterFailure(before: OriginCount, nowMs: number): OriginCount {
  const count = isWindowOver(before, nowMs)
    ? { ...newOriginCount(before.origin, nowMs), day: before.day }
    : before;
  const day = increment(count.day, nowMs);
  const failures = Math.min(count.failures + 1, failuresMax);
  if (failures < failuresMax) return { ...count, failures, day };
  const lockSeconds = Math.min(count.lockSeconds * 2 || firstLockSeconds, lockSecondsMax);
  return { ...count, failures, day, lockSeconds, lockedUntilMs: nowMs + lockSeconds * 1_000 };
}

/** 15 minutes after the window began or the last lock ended, earlier failures no longer lead to a lock. */
function isWindowOver(count: OriginCount, nowMs: number): boolean {
  if (isLocked(count, nowMs)) return false;
  return Math.abs(nowMs - Math.max(count.windowStartedAtMs, count.lockedUntilMs)) >= windowMs;
}

function newOriginCount(origin: string, nowMs: number): OriginCount {
  return { origin, failures: 0, windowStartedAtMs: nowMs, lockedUntilMs: 0, lockSeconds: 0, day: [] };
}

function countOf(account: AccountCounts | undefined, origin: string): OriginCount | undefined {
  return account?.origins.find((count) => count.origin === origin);
}

/**
 * The origins that still have failures in the last day. Each failure of an unknown origin is also one of the
 * strangers' 100 failures of the same hours, so there are at most 100 such origins, however many addresses an
 * attacker uses.
 */
function activeOrigins(account: AccountCounts | undefined, nowMs: number): readonly OriginCount[] {
  return (account?.origins ?? []).filter((count) => countOfLastDay(count.day, nowMs) > 0);
}

function withoutOldDevices(origins: readonly OriginCount[]): readonly OriginCount[] {
  const devices = origins.filter(({ origin }) => origin.startsWith(devicePrefix));
  const old = new Set(devices.slice(0, Math.max(0, devices.length - devicesMax)));
  return origins.filter((count) => !old.has(count));
}

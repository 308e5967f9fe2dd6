// Which sign-ins are looked at: bounds for who guesses passwords that do not shut out an account's owner.
//
// An attempt comes from an origin: a device that carries a hint of ours, else a client address. An account knows the origins
// it signed in from before. A failure counts on up to three counts; where one is full, the password is not looked at.
//   1. The origin, for this account: ten failures within 15 minutes lock it for a minute, each one after that for twice as
//      long, up to 15 minutes; and it has at most 100 failures a day.
//   2. All origins together that the account does not know: 100 failures a day.
//   3. The address, over all accounts that do not know it: a number a day that comes with the setting of its rate.
// An origin that the account knows is held by the first alone, so strangers take nothing from it. Success ends a lock of its
// origin; it takes nothing off a day, or an owner's sign-ins would give fresh guesses to a neighbour at the same address.
//
//   failure                            tenth within 15 minutes
//   open ─────────► open, counted ──────────────────────────────► locked 60 s, 120 s, … 900 s ──► open, next failure locks
//     ▲                  │  15 minutes without a lock, or success                   │
//     └──────────────────┴──────────────────────────────────────────────────────────┘   a full day: shut until its hours pass
//
// Pure: the clock comes in, and no store is known.
import { oneMore, type Tally, timesIn } from "./tally.rules.ts";

/** Times are milliseconds since 1970. */
export interface OriginCount {
  readonly origin: string;
  readonly failures: number;
  readonly windowStartedAtMs: number;
  /** 0: not locked yet. */
  readonly lockedUntilMs: number;
  /** Length of the last lock; 0: none yet. */
  readonly lockSeconds: number;
  readonly day: Tally;
}

/** What is held against one account. Plain JSON. */
export interface AccountCounts {
  /** Failures from origins that the account did not know. */
  readonly strangers: Tally;
  readonly origins: readonly OriginCount[];
}

export interface Attempt {
  readonly origin: string;
  /** The account has signed in from this origin before. */
  readonly known: boolean;
  readonly nowMs: number;
}

/** "open": the password decides. Otherwise it is refused unseen, for this reason. */
export type Standing = "open" | "locked_out" | "account_spent" | "address_spent";

const failuresMax = 10;
const windowMs = 15 * 60_000;
const firstLockSeconds = 60;
const lockSecondsMax = 15 * 60;
/** Of one origin against one account. */
export const originFailuresPerDay = 100;
/** Of all origins that the account does not know, together. */
export const strangersFailuresPerDay = 100;
export const devicePrefix = "device:";
/** Only who has signed in holds a device's hint, but may hold many. */
const devicesMax = 20;

/**
 * Whether the password of this attempt is looked at.
 * @param address failures of the attempt's address with accounts that do not know it
 * @param addressMax how many of them it has a day
 */
export function standingOf(
  account: AccountCounts | undefined,
  address: Tally,
  addressMax: number,
  attempt: Attempt,
): Standing {
  const { nowMs } = attempt;
  const count = countOf(account, attempt.origin);
  if (isLocked(count, nowMs)) return "locked_out";
  if (count !== undefined && timesIn(count.day, nowMs) >= originFailuresPerDay) return "locked_out";
  if (attempt.known) return "open";
  if (timesIn(account?.strangers ?? [], nowMs) >= strangersFailuresPerDay) return "account_spent";
  return timesIn(address, nowMs) >= addressMax ? "address_spent" : "open";
}

/** After one more wrong password that was looked at. */
export function afterFailure(account: AccountCounts | undefined, attempt: Attempt): AccountCounts {
  const { origin, known, nowMs } = attempt;
  const failed = originAfterFailure(countOf(account, origin) ?? unmarked(origin, nowMs), nowMs);
  const others = stillCounted(account, nowMs).filter((each) => each.origin !== origin);
  const strangers = account?.strangers ?? [];
  return {
    strangers: known ? strangers : oneMore(strangers, nowMs),
    origins: withoutOldDevices([...others, failed]),
  };
}

/** What is left to hold against an account after the right password; undefined when nothing is. */
export function afterSuccess(
  account: AccountCounts | undefined,
  { origin, nowMs }: Attempt,
): AccountCounts | undefined {
  if (account === undefined) return undefined;
  const cleared = account.origins.map((count) =>
    count.origin === origin ? { ...unmarked(origin, nowMs), day: count.day } : count,
  );
  const origins = stillCounted({ ...account, origins: cleared }, nowMs);
  const strangers = timesIn(account.strangers, nowMs) > 0 ? account.strangers : [];
  return origins.length === 0 && strangers.length === 0 ? undefined : { strangers, origins };
}

/** Whether sign-in is refused for a while. A lock longer than the longest comes from a clock set back and is void. */
export function isLocked(count: OriginCount | undefined, nowMs: number): boolean {
  const leftMs = (count?.lockedUntilMs ?? 0) - nowMs;
  return leftMs > 0 && leftMs <= lockSecondsMax * 1_000;
}

function originAfterFailure(before: OriginCount, nowMs: number): OriginCount {
  const count = isForgotten(before, nowMs) ? { ...unmarked(before.origin, nowMs), day: before.day } : before;
  const day = oneMore(count.day, nowMs);
  const failures = Math.min(count.failures + 1, failuresMax);
  if (failures < failuresMax) return { ...count, failures, day };
  const lockSeconds = Math.min(count.lockSeconds * 2 || firstLockSeconds, lockSecondsMax);
  return { ...count, failures, day, lockSeconds, lockedUntilMs: nowMs + lockSeconds * 1_000 };
}

/** 15 minutes after the window began or the last lock ended, no lock follows from what was before. */
function isForgotten(count: OriginCount, nowMs: number): boolean {
  if (isLocked(count, nowMs)) return false;
  return Math.abs(nowMs - Math.max(count.windowStartedAtMs, count.lockedUntilMs)) >= windowMs;
}

function unmarked(origin: string, nowMs: number): OriginCount {
  return { origin, failures: 0, windowStartedAtMs: nowMs, lockedUntilMs: 0, lockSeconds: 0, day: [] };
}

function countOf(account: AccountCounts | undefined, origin: string): OriginCount | undefined {
  return account?.origins.find((count) => count.origin === origin);
}

/**
 * Without what means nothing any more. Each stranger's count holds at least one of the strangers' 100 failures of the same
 * hours, so there are never more than 100 of them, from however many addresses they come.
 */
function stillCounted(account: AccountCounts | undefined, nowMs: number): readonly OriginCount[] {
  return (account?.origins ?? []).filter((count) => timesIn(count.day, nowMs) > 0);
}

function withoutOldDevices(origins: readonly OriginCount[]): readonly OriginCount[] {
  const devices = origins.filter(({ origin }) => origin.startsWith(devicePrefix));
  const old = new Set(devices.slice(0, Math.max(0, devices.length - devicesMax)));
  return origins.filter((count) => !old.has(count));
}

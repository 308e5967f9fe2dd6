// Bounds for guesses, with a clock of the test's own: what one stranger, many strangers, a neighbour and an owner meet.
import { describe, expect, it } from "@jest/globals";
import {
  type AccountCounts,
  afterFailure,
  afterSuccess,
  type Attempt,
  isLocked,
  originFailuresPerDay,
  lockoutStateOf,
  strangersFailuresPerDay,
} from "../../../../services/auth/lockout.rules.ts";
import { increment, type Tally, countOfLastDay } from "../../../../services/auth/tally.rules.ts";

const startMs = Date.UTC(2026, 0, 1, 0, 59);
const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const addressMax = 600;

const from = (origin: string, nowMs: number, known = false): Attempt => ({ origin, known, nowMs });

/** Accounts and addresses as the service keeps them, and when which guess was looked at. */
class World {
  readonly accounts = new Map<string, AccountCounts | undefined>();
  readonly addresses = new Map<string, Tally>();
  readonly looked: { account: string; origin: string; atMs: number }[] = [];

  guess(account: string, attempt: Attempt): boolean {
    const address = this.addresses.get(attempt.origin) ?? [];
    if (lockoutStateOf(this.accounts.get(account), address, addressMax, attempt) !== "open") return false;
    this.accounts.set(account, afterFailure(this.accounts.get(account), attempt));
    if (!attempt.known) this.addresses.set(attempt.origin, increment(address, attempt.nowMs));
    this.looked.push({ account, origin: attempt.origin, atMs: attempt.nowMs });
    return true;
  }

  succeed(account: string, attempt: Attempt): boolean {
    const address = this.addresses.get(attempt.origin) ?? [];
    if (lockoutStateOf(this.accounts.get(account), address, addressMax, attempt) !== "open") return false;
    this.accounts.set(account, afterSuccess(this.accounts.get(account), attempt));
    return true;
  }

  /** The most guesses that were looked at within any 24 hours. */
  mostInADay(): number {
    let first = 0;
    let most = 0;
    this.looked.forEach(({ atMs }, last) => {
      while ((this.looked[first]?.atMs ?? atMs) <= atMs - dayMs) first++;
      most = Math.max(most, last - first + 1);
    });
    return most;
  }
}

const fail = (times: number, nowMs: number, before?: AccountCounts) => {
  let counts = before;
  for (let time = 0; time < times; time++) counts = afterFailure(counts, from("a", nowMs));
  return counts;
};
const countOfA = (counts: AccountCounts | undefined) => counts?.origins.find(({ origin }) => origin === "a");

describe("failures of one origin in a row", () => {
  it.each([
    [1, false],
    [9, false],
    [10, true],
  ])("%i: locked is %s", (times, expected) => {
    const counts = fail(times, startMs);
    expect(isLocked(countOfA(counts), startMs)).toBe(expected);
    expect(lockoutStateOf(counts, [], addressMax, from("a", startMs))).toBe(expected ? "locked_out" : "open");
    expect(countOfA(counts)?.lockSeconds).toBe(expected ? 60 : 0);
  });

  it("lock for a minute, to the millisecond, and no other origin", () => {
    const counts = fail(10, startMs);
    expect(isLocked(countOfA(counts), startMs + minuteMs - 1)).toBe(true);
    expect(isLocked(countOfA(counts), startMs + minuteMs)).toBe(false);
    expect(lockoutStateOf(counts, [], addressMax, from("b", startMs))).toBe("open");
  });

  it("after a lock lock at once, twice as long each time, up to 15 minutes", () => {
    let counts = fail(10, startMs);
    const seconds: (number | undefined)[] = [];
    for (let lock = 0; lock < 7; lock++) {
      seconds.push(countOfA(counts)?.lockSeconds);
      const nowMs = countOfA(counts)?.lockedUntilMs ?? 0;
      expect(isLocked(countOfA(counts), nowMs)).toBe(false);
      counts = fail(1, nowMs, counts);
      expect(isLocked(countOfA(counts), nowMs)).toBe(true);
    }
    expect(seconds).toEqual([60, 120, 240, 480, 900, 900, 900]);
  });

  it.each([
    // What was, how many failures, how much later, and as which the next failure counts towards a lock.
    ["nine failures within the window", 9, 15 * minuteMs - 1, 10],
    ["nine failures after it", 9, 15 * minuteMs, 1],
    ["a lock that just ended", 10, minuteMs, 10],
    ["a lock that ended nearly 15 minutes ago", 10, 16 * minuteMs - 1, 10],
    ["a lock that ended 15 minutes ago", 10, 16 * minuteMs, 1],
  ])("%s", (_, times, laterMs, failures) => {
    const counts = fail(1, startMs + laterMs, fail(times, startMs));
    expect(countOfA(counts)?.failures).toBe(failures);
  });

  it("success ends a lock and takes nothing off the day", () => {
    const counts = afterSuccess(fail(9, startMs), from("a", startMs));
    expect(countOfA(counts)).toMatchObject({ failures: 0, lockedUntilMs: 0, lockSeconds: 0 });
    expect(countOfLastDay(countOfA(counts)?.day ?? [], startMs)).toBe(9);
    expect(countOfLastDay(counts?.strangers ?? [], startMs)).toBe(9);
    expect(afterSuccess(counts, from("a", startMs + 26 * hourMs))).toBeUndefined();
    expect(afterSuccess(undefined, from("a", startMs))).toBeUndefined();
  });

  it("success from one origin leaves another's lock", () => {
    const counts = afterSuccess(fail(10, startMs), from("b", startMs, true));
    expect(lockoutStateOf(counts, [], addressMax, from("a", startMs))).toBe("locked_out");
  });
});

describe("how many guesses a day are looked at", () => {
  it("of one stranger who never rests, for five days: 100 in any 24 hours", () => {
    const world = new World();
    for (let ms = 0; ms < 5 * dayMs; ms += 5 * secondMs) world.guess("ada", from("a", startMs + ms));
    expect(world.mostInADay()).toBeGreaterThan(90);
    expect(world.mostInADay()).toBeLessThanOrEqual(strangersFailuresPerDay);
  });

  it("of a hundred thousand addresses against one account: 100 in any 24 hours, and as much is kept as one page", () => {
    const world = new World();
    let kept = 0;
    for (let guess = 0; guess < 100_000; guess++) {
      world.guess("ada", from(`2001:db8:0:${guess.toString(16)}::/64`, startMs + guess * 3 * secondMs));
      if (guess % 500 === 0) kept = Math.max(kept, JSON.stringify(world.accounts.get("ada")).length);
    }
    expect(world.mostInADay()).toBe(strangersFailuresPerDay);
    expect(world.accounts.get("ada")?.origins.length).toBeLessThanOrEqual(strangersFailuresPerDay);
    expect(kept).toBeLessThan(24_000);
  });

  it("of a neighbour at an address the account knows: 100 in any 24 hours, also while its owner signs in each minute", () => {
    const world = new World();
    for (let ms = 0; ms < 3 * dayMs; ms += 10 * secondMs) {
      world.guess("ada", from("a", startMs + ms, true));
      if (ms % minuteMs === 0) world.succeed("ada", from("a", startMs + ms, true));
    }
    expect(world.mostInADay()).toBeLessThanOrEqual(originFailuresPerDay);
    expect(world.mostInADay()).toBeGreaterThan(90);
  });

  it("of one address against ten thousand accounts that do not know it: its own number in any 24 hours", () => {
    const world = new World();
    for (let ms = 0; ms < 3 * dayMs; ms += 20 * secondMs)
      world.guess(`account-${(ms / 20_000) % 10_000}`, from("a", startMs + ms));
    expect(world.mostInADay()).toBe(addressMax);
  });

  it("of a thousand addresses against 20 accounts: 100 for each account", () => {
    const world = new World();
    for (let guess = 0; guess < 40_000; guess++)
      world.guess(`account-${guess % 20}`, from(`address-${guess % 1_000}`, startMs + guess * 2 * secondMs));
    expect(world.mostInADay()).toBe(20 * strangersFailuresPerDay);
  });
});

describe("the owner, while strangers keep the account's count full", () => {
  const besieged = () => {
    const world = new World();
    for (let guess = 0; guess < 500; guess++) world.guess("ada", from(`stranger-${guess}`, startMs + guess));
    return world;
  };

  it("is let in from a known address and with a known device, all day", () => {
    const world = besieged();
    for (let ms = 0; ms < dayMs; ms += 10 * minuteMs) {
      for (let guess = 0; guess < 5; guess++)
        world.guess("ada", from(`s-${ms}-${guess}`, startMs + ms + guess));
      expect(world.succeed("ada", from("home", startMs + ms, true))).toBe(true);
      expect(world.succeed("ada", from("device:d", startMs + ms, true))).toBe(true);
    }
  });

  it("is let in by the device where a neighbour keeps the address locked", () => {
    const world = besieged();
    for (let guess = 0; guess < 10; guess++) world.guess("ada", from("home", startMs + 1_000, true));
    expect(world.succeed("ada", from("home", startMs + 1_000, true))).toBe(false);
    expect(world.succeed("ada", from("device:d", startMs + 1_000, true))).toBe(true);
  });

  it("is not let in from an address of which nobody knows, until the hours have passed", () => {
    const world = besieged();
    const standing = (ms: number) =>
      lockoutStateOf(world.accounts.get("ada"), [], addressMax, from("hotel", startMs + ms));
    expect(standing(1_000)).toBe("account_spent");
    expect(standing(dayMs)).toBe("account_spent");
    expect(standing(25 * hourMs)).toBe("open");
  });

  it("is not hindered by what an address did to others, where the account knows it", () => {
    const spent: Tally = [[Math.floor(startMs / hourMs), addressMax]];
    expect(lockoutStateOf(undefined, spent, addressMax, from("home", startMs))).toBe("address_spent");
    expect(lockoutStateOf(undefined, spent, addressMax, from("home", startMs, true))).toBe("open");
  });
});

describe("what is kept", () => {
  it("of devices: the newest 20, for who knows a password may hold many hints", () => {
    let counts: AccountCounts | undefined;
    for (let device = 0; device < 300; device++)
      counts = afterFailure(counts, from(`device:${device}`, startMs + device, true));
    expect(counts?.origins.map(({ origin }) => origin)).toEqual(
      Array.from({ length: 20 }, (_, at) => `device:${280 + at}`),
    );
    expect(counts?.strangers).toEqual([]);
  });

  it("survives JSON", () => {
    const counts = fail(10, startMs);
    expect(JSON.parse(JSON.stringify(counts))).toEqual(counts);
  });

  it("an address is only ever compared: one that is called like a property of all objects is an address", () => {
    const counts = afterFailure(undefined, from("__proto__", startMs));
    expect(lockoutStateOf(counts, [], addressMax, from("constructor", startMs))).toBe("open");
    expect(counts.origins).toHaveLength(1);
  });
});

describe("a clock that was set back", () => {
  it("by years locks nobody for years", () => {
    const longAgoMs = startMs - 365 * dayMs;
    const counts = fail(10, startMs);
    expect(lockoutStateOf(counts, [], addressMax, from("a", longAgoMs))).toBe("open");
    expect(countOfA(fail(1, longAgoMs, counts))?.failures).toBe(1);
  });
  it("by seconds keeps the lock and the day", () => {
    const counts = fail(10, startMs);
    expect(lockoutStateOf(counts, [], addressMax, from("a", startMs - 5_000))).toBe("locked_out");
    expect(countOfLastDay(counts?.strangers ?? [], startMs - 2 * minuteMs)).toBe(10);
  });
});

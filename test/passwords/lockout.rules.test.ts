import { describe, expect, it } from "@jest/globals";
import { afterFailure, isForgotten, isLocked } from "../../services/shared/lockout.rules.ts";
import type { LockoutState } from "../../services/shared/lockout.rules.ts";

const startMs = Date.UTC(2026, 0, 1);
const minuteMs = 60_000;
const fail = (state: LockoutState | undefined, times: number, nowMs: number) => {
  let next = state;
  for (let time = 0; time < times; time++) next = afterFailure(next, nowMs);
  return next;
};
const locked = fail(undefined, 10, startMs);

describe("failures in a row", () => {
  it.each([
    [1, false],
    [9, false],
    [10, true],
    [11, true],
    [200, true],
  ])("%i at once: locked is %s", (times, expected) => {
    const state = fail(undefined, times, startMs);
    expect(isLocked(state, startMs)).toBe(expected);
    expect(state?.lockSeconds).toBe(expected ? 60 : 0);
  });
  it("lock for a minute, to the millisecond", () => {
    expect(isLocked(locked, startMs + minuteMs - 1)).toBe(true);
    expect(isLocked(locked, startMs + minuteMs)).toBe(false);
  });
  it("during a lock change nothing", () => expect(fail(locked, 50, startMs + 30_000)).toEqual(locked));
});

describe("failures after a lock", () => {
  it("lock at once, twice as long each time, up to 15 minutes", () => {
    let state = locked;
    let nowMs = startMs;
    const seconds: (number | undefined)[] = [];
    for (let lock = 0; lock < 7; lock++) {
      seconds.push(state?.lockSeconds);
      nowMs = state?.lockedUntilMs ?? 0;
      expect(isLocked(state, nowMs)).toBe(false);
      state = fail(state, 1, nowMs);
      expect(isLocked(state, nowMs)).toBe(true);
      expect(fail(state, 3, nowMs)).toEqual(state);
    }
    expect(seconds).toEqual([60, 120, 240, 480, 900, 900, 900]);
  });
  it("a guesser gets at most 24 tries in the first two hours", () => {
    let state: LockoutState | undefined;
    let tries = 0;
    for (let nowMs = startMs; nowMs < startMs + 120 * minuteMs; nowMs += 1_000)
      while (!isLocked(state, nowMs)) {
        state = afterFailure(state, nowMs);
        tries++;
      }
    expect(tries).toBeLessThanOrEqual(24);
  });
});

describe("what is forgotten", () => {
  it.each([
    ["nine failures within the window", fail(undefined, 9, startMs), 15 * minuteMs - 1, false],
    ["nine failures after it", fail(undefined, 9, startMs), 15 * minuteMs, true],
    ["a lock that just ended", locked, minuteMs, false],
    ["a lock that ended nearly 15 minutes ago", locked, 16 * minuteMs - 1, false],
    ["a lock that ended 15 minutes ago", locked, 16 * minuteMs, true],
  ])("%s", (_, state, laterMs, forgotten) => {
    const nowMs = startMs + laterMs;
    expect(state && isForgotten(state, nowMs)).toBe(forgotten);
    expect(afterFailure(state, nowMs).failures === 1).toBe(forgotten);
  });
  it("nine failures in every window never lock", () => {
    let state: LockoutState | undefined;
    for (let window = 0; window < 20; window++) {
      const nowMs = startMs + window * 15 * minuteMs;
      state = fail(state, 9, nowMs);
      expect(isLocked(state, nowMs)).toBe(false);
    }
  });
  it("success leaves nothing", () => {
    expect(isLocked(undefined, startMs)).toBe(false);
    expect(afterFailure(undefined, startMs)).toEqual({
      failures: 1,
      windowStartedAtMs: startMs,
      lockedUntilMs: 0,
      lockSeconds: 0,
    });
  });
});

describe("a clock that was set back", () => {
  it("by years locks nobody for years", () => {
    expect(isLocked(locked, startMs - 365 * 24 * 60 * minuteMs)).toBe(false);
    expect(afterFailure(locked, startMs - 365 * 24 * 60 * minuteMs).failures).toBe(1);
  });
  it("by seconds keeps the lock", () => expect(isLocked(locked, startMs - 5_000)).toBe(true));
});

it("the state survives JSON", () => expect(JSON.parse(JSON.stringify(locked))).toEqual(locked));

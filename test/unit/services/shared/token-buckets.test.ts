// Rates in memory: what a full bucket holds, what flows in again, and how many keys are remembered.
import { describe, expect, it } from "@jest/globals";
import { TokenBuckets } from "../../../../services/shared/limits/token-buckets.ts";

const at = 1_000_000;
const take = (buckets: TokenBuckets<string>, times: number, nowMs = at, key = "a"): number[] =>
  Array.from({ length: times }, () => buckets.take(key, nowMs));

describe("a rate of 60 a minute", () => {
  it("gives 60 at once and refuses the 61st for a second", () => {
    const buckets = new TokenBuckets<string>(60, 10);
    expect(new Set(take(buckets, 60))).toEqual(new Set([0]));
    expect(buckets.take("a", at)).toBe(1);
    expect(buckets.take("a", at + 999)).toBe(1);
    expect(buckets.take("a", at + 1_000)).toBe(0);
    expect(buckets.take("a", at + 1_000)).toBe(1);
  });

  it("gives as many in an hour as flow in, beside those it began with", () => {
    const buckets = new TokenBuckets<string>(60, 10);
    let given = 0;
    for (let ms = 0; ms < 3_600_000; ms += 100) if (buckets.take("a", at + ms) === 0) given++;
    expect(given).toBeGreaterThanOrEqual(60 + 3_598);
    expect(given).toBeLessThanOrEqual(60 + 3_600);
  });

  it("is never more than full", () => {
    const buckets = new TokenBuckets<string>(60, 10);
    take(buckets, 60);
    expect(take(buckets, 61, at + 86_400_000).filter((seconds) => seconds === 0)).toHaveLength(60);
  });

  it("counts each key for itself", () => {
    const buckets = new TokenBuckets<string>(60, 10);
    take(buckets, 60);
    expect(buckets.take("b", at)).toBe(0);
  });

  it("what weighs more takes more, and waits longer; nothing weighs more than a full bucket", () => {
    const buckets = new TokenBuckets<string>(60, 10);
    expect(buckets.take("a", at, 50)).toBe(0);
    expect(buckets.take("a", at, 20)).toBe(10);
    // What was refused has taken nothing.
    expect(take(buckets, 11)).toEqual([...Array.from({ length: 10 }, () => 0), 1]);
    expect(buckets.take("b", at, 600)).toBe(0);
    expect(buckets.take("b", at)).toBe(1);
    expect(buckets.take("b", at + 60_000, 600)).toBe(0);
  });
});

it("remembers so many keys; whom it forgets is who was silent longest", () => {
  const buckets = new TokenBuckets<string>(1, 3);
  for (const key of ["a", "b", "c"]) expect(buckets.take(key, at)).toBe(0);
  expect(buckets.take("a", at)).toBe(60);
  expect(buckets.take("d", at)).toBe(0);
  expect(buckets.take("a", at)).toBe(60);
  expect(buckets.take("c", at)).toBe(60);
  expect(buckets.take("b", at)).toBe(0);
});

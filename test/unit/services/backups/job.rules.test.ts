// How often and for how long a job is tried.
import { describe, expect, it } from "@jest/globals";
import { pauseAfter, triesMax } from "../../../../services/backups/job.rules.ts";

/** Seconds from the first try to each. */
function triesOf(byClock: boolean): number[] {
  const at = [0];
  for (let tries = 1; at.length <= 20; tries++) {
    const pause = pauseAfter(tries, byClock);
    if (pause === undefined) break;
    at.push((at.at(-1) ?? 0) + pause);
  }
  return at;
}

describe("what is away", () => {
  it("for ten minutes at night costs no backup, and for an hour is told", () => {
    const tries = triesOf(true);
    expect(tries.some((seconds) => seconds > 600)).toBe(true);
    expect(tries.at(-1)).toBeLessThan(3_600);
    expect(tries).toHaveLength(triesMax(true));
  });
  it("is told within minutes to who waits for it", () => {
    const tries = triesOf(false);
    expect(tries.at(-1)).toBeLessThan(180);
    expect(tries).toHaveLength(triesMax(false));
  });
  it("is asked less and less often", () => {
    const tries = triesOf(true);
    const pauses = tries.slice(1).map((seconds, nth) => seconds - (tries[nth] ?? 0));
    expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
  });
});

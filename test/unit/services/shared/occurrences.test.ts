// Schedules of a process whose clock jumps: they go on within a minute, and what was passed over is made up for once.
import { describe, expect, it } from "@jest/globals";
import { eachOccurrence, Occurrences } from "../../../../mixins/jobs/occurrences.ts";

const start = Date.parse("2026-11-22T01:30:20Z");
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const nightly = "20 2 * * *";

/** Looks at the given moments (ms after the start). @returns what was due, each settled at once */
function dueAt(cron: string, ...moments: readonly number[]): string[] {
  const occurrences = new Occurrences(cron, start);
  return moments.flatMap((moment) => {
    const at = occurrences.due(start + moment);
    if (at === undefined) return [];
    occurrences.settle(at);
    return [at.toISOString().slice(0, 16)];
  });
}

describe("what is due", () => {
  it.each<[string, string, number[], string[]]>([
    [
      "each minute once, however often it is looked at",
      "* * * * *",
      [minuteMs, minuteMs + 1, 2 * minuteMs],
      ["2026-11-22T01:31", "2026-11-22T01:32"],
    ],
    ["nothing of before the start", "30 1 * * *", [0, minuteMs], []],
    [
      "by the night at its minute alone",
      nightly,
      [49 * minuteMs, 50 * minuteMs, 51 * minuteMs],
      ["2026-11-22T02:20"],
    ],
    [
      "by the night, though the clock was set ahead over it",
      nightly,
      [minuteMs, minuteMs + hourMs],
      ["2026-11-22T02:20"],
    ],
    [
      "by the night, though the process stood still for most of a day",
      nightly,
      [20 * hourMs],
      ["2026-11-22T02:20"],
    ],
    ["the newest of what was passed over", "*/10 * * * *", [hourMs], ["2026-11-22T02:30"]],
    ["nothing of more than a day ago", "31 1 * * *", [24 * hourMs], []],
    [
      "each minute of an hour that the clock repeats",
      "* * * * *",
      [minuteMs, minuteMs - hourMs, 2 * minuteMs - hourMs],
      ["2026-11-22T01:31", "2026-11-22T00:32"],
    ],
    ["with seconds, by the minute", "30 20 2 * * *", [50 * minuteMs], ["2026-11-22T02:20"]],
  ])("%s", (_name, cron, moments, due) => {
    expect(dueAt(cron, ...moments)).toEqual(due);
  });

  it("what could not be enqueued, in the next minute", () => {
    const occurrences = new Occurrences(nightly, start);
    const first = occurrences.due(start + 50 * minuteMs);
    expect(occurrences.due(start + 51 * minuteMs)).toEqual(first);
    occurrences.settle(first ?? new Date(0));
    expect(occurrences.due(start + 52 * minuteMs)).toBeUndefined();
  });
});

describe("the loop", () => {
  it("goes on within a minute after the clock was set back by an hour, and once more where it could not enqueue", async () => {
    const ending = new AbortController();
    let now = start;
    let waited = 0;
    const longest: number[] = [];
    const clock = {
      now: () => now,
      async wait(ms: number) {
        longest.push(ms);
        now += ms;
        waited += 1;
        if (waited === 3) now -= hourMs;
      },
    };
    const seen: string[] = [];
    await eachOccurrence("* * * * *", clock, ending.signal, async (at) => {
      seen.push(at.toISOString().slice(11, 16));
      if (seen.length === 6) ending.abort();
      return seen.length !== 2;
    });
    // The third look finds the clock set back; what is refused is due with the next look, as is the newest since.
    expect(seen).toEqual(["01:31", "01:32", "00:34", "00:35", "00:36", "00:37"]);
    expect(Math.max(...longest)).toBeLessThanOrEqual(minuteMs);
  });
});

// How hard archives are worked at: as hard as it goes while nobody is served, and with a rest after each piece meanwhile.
import { describe, expect, it } from "@jest/globals";
import { Pace } from "../../services/backups/moving/pace.ts";
import { Serving } from "../../services/backups/moving/serving.ts";

/** A pace by a clock that the test moves, and the rests it took. */
function paced() {
  const rests: number[] = [];
  let nowMs = 0;
  const wait = async (ms: number) => {
    rests.push(ms);
    nowMs += ms;
  };
  const pace = new Pace({ now: () => nowMs, wait });
  const work = async (ms: number) => {
    nowMs += ms;
    await pace.rest();
  };
  return { pace, rests, work };
}

describe("a thread that moves archives", () => {
  it("rests for nobody while nobody is served", async () => {
    const { rests, work } = paced();
    for (const ms of [1, 100, 10_000]) await work(ms);
    expect(rests).toEqual([]);
  });
  it("rests longer than it worked while others are served, and no longer when they have gone", async () => {
    const { pace, rests, work } = paced();
    pace.giveWay(true);
    await work(4);
    await work(20);
    pace.giveWay(false);
    await work(20);
    expect(rests).toEqual([6, 30]);
  });
  it("rests for small pieces together, and never for long: a wait for the store was no work", async () => {
    const { pace, rests, work } = paced();
    pace.giveWay(true);
    for (let nth = 0; nth < 4; nth++) await work(0.25);
    expect(rests).toEqual([1.125]);
    await work(60_000);
    expect(rests).toEqual([1.125, 50]);
  });
});

describe("whether others are served", () => {
  const lookingAt = (shares: readonly number[], everyMs: number) => {
    let used = { atMs: 0, cpuMs: 0 };
    const serving = new Serving(() => used);
    return shares.map((share) => {
      used = { atMs: used.atMs + everyMs, cpuMs: used.cpuMs + share * everyMs };
      return serving.isBusy();
    });
  };
  it.each([
    ["nothing but a job that says how far it is", [0.002, 0.004, 0.001], [false, false, false]],
    ["a hundred requests a second", [0.03, 0.02, 0.04], [true, true, true]],
    ["a burst, which is believed for two seconds", [0.5, 0, 0, 0, 0], [true, true, true, true, false]],
  ])("%s", (_what, shares, expected) => {
    expect(lookingAt(shares, 500)).toEqual(expected);
  });
  it("is asked of the process itself", () => {
    const serving = new Serving();
    const until = process.threadCpuUsage().user + 5_000;
    while (process.threadCpuUsage().user < until);
    expect(serving.isBusy()).toBe(true);
  });
});

// How hard archives are worked at: as hard as it goes while nobody is served, and with a rest after each piece meanwhile.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { pino } from "pino";
import { recordsMiddleware } from "../../../../host/process/middleware.ts";
import { Runtime } from "../../../../host/process/runtime.ts";
import { readConfig } from "../../../../host/settings/config.ts";
import { anyone } from "../../../../services/shared/access.ts";
import { Caller, setBusKey } from "../../../../services/shared/caller.ts";
import { operatorCaller } from "../../../../services/shared/operator.ts";
import { Pace } from "../../../../services/backups/moving/pace.ts";
import { Serving } from "../../../../services/backups/moving/serving.ts";

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

describe("while others are served", () => {
  it("little is worked on at a time, and what brings more rests too", async () => {
    const told: string[] = [];
    let nowMs = 0;
    const wait = async () => {
      told.push("waits");
    };
    const pace = new Pace({ now: () => nowMs, wait });
    const reading = { hold: () => void told.push("holds"), release: () => void told.push("goes on") };
    const whole = pace.pieceBytes;
    nowMs += 5;
    await pace.rest(reading);
    expect(told).toEqual([]);
    pace.giveWay(true);
    expect(pace.pieceBytes * 8).toBeLessThanOrEqual(whole);
    nowMs += 5;
    await pace.rest(reading);
    expect(told).toEqual(["holds", "waits", "goes on"]);
  });
});

describe("whether others are served", () => {
  /** What is said of a process that is looked at so often and asked for so many calls between two looks. */
  const lookingAt = (callsEach: readonly number[], everyMs = 250) => {
    let asked = { atMs: 1_000, calls: 7_000 };
    const serving = new Serving(() => asked);
    return callsEach.map((calls) => {
      asked = { atMs: asked.atMs + everyMs, calls: asked.calls + calls };
      return serving.isBusy();
    });
  };
  const all = (length: number, value: number | boolean) => Array.from({ length }, () => value);
  it.each([
    ["nobody asks for anything", all(40, 0), all(40, false)],
    ["somebody looks at something each half second", all(40, 0).map((_none, nth) => nth % 2), all(40, false)],
    ["nine calls a second", [...Array(10)].flatMap(() => [3, 2, 2, 2]), all(40, false)],
    ["a hundred calls a second, from the first look on", all(40, 25), all(40, true)],
    [
      "ten calls a second, once a second has passed",
      [3, 2, 3, 2, 3, 2],
      [false, false, false, true, true, true],
    ],
    [
      "a burst, believed for two seconds after it was last seen",
      [12, ...all(13, 0)],
      [...all(11, true), ...all(3, false)],
    ],
  ])("%s", (_what, calls, expected) => {
    expect(lookingAt(calls as number[])).toEqual(expected);
  });
  it("goes by the rate where it is looked at late", () => {
    expect(lookingAt([19, 0], 2_500)).toEqual([false, false]);
    expect(lookingAt([25, 0], 2_500)).toEqual([true, false]);
  });
});

describe("a process counts the calls of others", () => {
  const runtime = new Runtime(readConfig({}), pino({ level: "silent" }));
  const person = new Caller({ ...Caller.system("api-gateway").facts, principal: { kind: "anonymous" } });
  const operator = operatorCaller("somebody");
  /** Through the hook that every action of every service has. */
  const counted = async (name: string, caller: unknown) => {
    const before = runtime.callsForOthers.count;
    const action = { name, access: anyone };
    const next = async () => "answered";
    const { localAction } = recordsMiddleware(runtime, () => {});
    // As Moleculer calls it; of a context the hook reads no more than this.
    const run = (
      localAction as unknown as (n: typeof next, a: typeof action) => (ctx: object) => Promise<unknown>
    )(next, action);
    await run({ meta: { caller }, locals: {}, params: {} }).catch(() => undefined);
    return runtime.callsForOthers.count - before;
  };
  beforeAll(() => runtime.phases.ready());
  afterAll(() => runtime.close());
  it.each([
    ["a person's", "patients.list", person, 1],
    ["an operator's", "patients.list", operator, 1],
    ["one that comes signed from another process", "patients.list", "signed", 1],
    ["the service's own, as of jobs, detectors and schedules", "patients.list", Caller.system("users"), 0],
    ["one that proves nothing", "patients.list", "forged", 0],
    ["whoever follows a backup", "backups.status", person, 0],
    ["whoever looks how the service is", "health.overview", person, 0],
    ["the question who asks, which each request begins with", "auth.authenticate", person, 0],
    ["the same question about several at once", "auth.authenticate_all", person, 0],
  ])("%s: %s", async (_whose, name, caller, expected) => {
    setBusKey("a key of the bus for this test, long enough");
    expect(await counted(name, caller === "signed" ? person.toJSON() : caller)).toBe(expected);
  });
});

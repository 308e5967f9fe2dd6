// What follows from a node's silence, moment by moment.
import { describe, expect, it } from "@jest/globals";
import { lookEveryMs, Silences, type Verdict } from "../../../../../services/shared/bus/silences.ts";

/** Looks as often as the service does, from one moment to another. */
function lookFrom(silences: Silences, from: number, until: number): [atMs: number, Verdict][] {
  const found: [number, Verdict][] = [];
  for (let now = from; now <= until; now += lookEveryMs)
    found.push(...silences.look(now).map(([, verdict]): [number, Verdict] => [now, verdict]));
  return found;
}

describe("a node that was asked something", () => {
  it("is asked whether it is there, is avoided, and in the end given up", () => {
    const silences = new Silences();
    silences.sent("node", 0);
    const found = lookFrom(silences, 50, 1_500);
    expect(found).toEqual([
      [200, "ask"],
      [500, "avoid"],
      [1_500, "give up"],
    ]);
    expect(silences.isAvoided("node")).toBe(true);
    expect(silences.isUnheard("node")).toBe(false);
  });

  it("is left alone once it says anything, and is not avoided any more", () => {
    const silences = new Silences();
    silences.sent("node", 0);
    lookFrom(silences, 50, 600);
    expect(silences.heard("node", 610)).toBe(true);
    expect(silences.isAvoided("node")).toBe(false);
    expect(lookFrom(silences, 650, 3_000)).toEqual([]);
    expect(silences.heard("node", 3_010)).toBe(false);
  });

  it("may take its time with an answer while it says that it is there", () => {
    const silences = new Silences();
    silences.sent("node", 0);
    expect(lookFrom(silences, 50, 250)).toEqual([[200, "ask"]]);
    silences.heard("node", 260);
    expect(lookFrom(silences, 300, 5_000)).toEqual([]);
  });

  it("counts as fresh for a tenth of a second", () => {
    const silences = new Silences();
    expect(silences.isFresh("node", 0)).toBe(false);
    silences.heard("node", 0);
    expect([silences.isFresh("node", 99), silences.isFresh("node", 100)]).toEqual([true, false]);
  });

  it("is not blamed for what this process did not hear while it stood still itself", () => {
    const silences = new Silences();
    silences.sent("node", 0);
    expect(silences.look(10_000)).toEqual([]);
    expect(lookFrom(silences, 10_050, 10_300)).toEqual([[10_150, "ask"]]);
  });
});

describe("a node that nobody listens for", () => {
  it("is avoided at once, and gone unless it answers", () => {
    const silences = new Silences();
    expect(silences.unheard("node", 0)).toBe(true);
    expect(silences.unheard("node", 10)).toBe(false);
    expect([silences.isAvoided("node"), silences.isUnheard("node")]).toEqual([true, true]);
    expect(lookFrom(silences, 50, 250)).toEqual([[250, "gone"]]);
  });

  it("is there all the same when it answers", () => {
    const silences = new Silences();
    silences.unheard("node", 0);
    expect(silences.heard("node", 100)).toBe(true);
    expect(lookFrom(silences, 150, 2_000)).toEqual([]);
  });
});

it("a node that has left is forgotten", () => {
  const silences = new Silences();
  silences.heard("node", 0);
  silences.sent("node", 10);
  silences.forget("node");
  expect([silences.size, silences.isFresh("node", 20)]).toEqual([0, false]);
});

// The guards as tables, the transitions, and the documentation against the catalogue.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import {
  failsTooOften,
  isMassEvent,
  incidentStatuses,
  transitions,
  triesMax,
  waitSeconds,
} from "../../../../services/self-healing/incident.rules.ts";
import { catalogue } from "../../../../mixins/healing/catalogue.ts";
import { faultsTable } from "../../../support/faults-table.ts";
import { numberIn, textIn } from "../../../../mixins/healing/targets.ts";

describe("a mass event", () => {
  it.each([
    [4, 4, false],
    [5, 5, true],
    [5, 12, true],
    [5, 13, false],
    [40, 100, false],
    [41, 100, true],
    [100, null, false],
    [0, 0, false],
  ])("%d at fault of %s: %s", (found, targets, is) => {
    expect(isMassEvent(found, targets)).toBe(is);
  });
});

describe("failures", () => {
  const tries = (text: string) => text.split("").map((each) => each === "+");
  it.each([
    ["", false],
    ["-----", false],
    ["------", true],
    ["-+-+-+-+-+", false],
    ["--+-+-+-+-", true],
    ["++++++++++------", false],
  ])("newest first %s: %s", (text, is) => {
    expect(failsTooOften(tries(text))).toBe(is);
  });
  it("each wait is twice the one before", () => {
    expect([1, 2, 3, 4].map(waitSeconds)).toEqual([60, 120, 240, 480]);
    expect(waitSeconds(triesMax)).toBe(waitSeconds(99));
  });
});

describe("the life of an incident", () => {
  it("comes to an end from everywhere, and from an end nowhere", () => {
    const ends = incidentStatuses.filter((status) => transitions[status].length === 0);
    expect(ends).toEqual(["healed", "ended", "dismissed"]);
    for (const status of incidentStatuses)
      for (const next of transitions[status]) expect(incidentStatuses).toContain(next);
  });
});

describe("a target", () => {
  it.each([
    ["tenant:7", 7],
    ["tenant:", undefined],
    ["tenant:7x", undefined],
    ["tenant:-7", undefined],
    ["job:7", undefined],
    ["tenant:9999999999999999", undefined],
  ])("%s names %s", (target, id) => {
    expect(numberIn("tenant", target)).toBe(id);
  });
  it("of another kind names nothing", () => {
    expect([textIn("a", "a:b:c"), textIn("a", "b:c")]).toEqual(["b:c", undefined]);
  });
});

describe("the catalogue", () => {
  it("has at least twelve faults with a remedy, and says of each what is never done", () => {
    expect(catalogue.filter(({ remedy }) => remedy !== null).length).toBeGreaterThanOrEqual(12);
    for (const { code, title, problem, never, remedy } of catalogue) {
      expect(code).toMatch(/^[a-z_]{1,60}$/);
      for (const text of [problem, never, ...(remedy === null ? [] : [remedy])])
        expect(text).toMatch(/^[A-Z].*\.$/s);
      expect(title).not.toMatch(/\.$/);
    }
  });
  it("stands in the documentation as it is", () => {
    const text = readFileSync(join(import.meta.dirname, "../../../../docs/self-healing.md"), "utf8");
    expect(/<!-- faults -->\n([\s\S]*?)\n<!-- \/faults -->/.exec(text)?.[1]?.trim()).toBe(faultsTable());
  });
});

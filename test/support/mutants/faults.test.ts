// The list of planted faults cannot rot: each still fits its file, and the tests that must notice it are there. Whether they
// do, `npm run mutants` finds out.
import { existsSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { plantedFaults } from "./faults.ts";
import { occurrences } from "./plant.ts";
import { sampleOf } from "./sample.ts";

const root = join(import.meta.dirname, "../../..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");

describe("a planted fault", () => {
  it.each(plantedFaults.map((fault) => [fault.says, fault] as const))(
    "%s: fits its file, and its tests are there",
    (_says, { file, text, replacement, tests }) => {
      const whole = textOf(file);
      expect([file, occurrences(whole, text)]).toEqual([file, 1]);
      const planted = whole.split(text).join(replacement);
      expect(planted).not.toBe(whole);
      // A program that cannot be read is noticed by every test, and proves none of them.
      expect(() => stripTypeScriptTypes(planted)).not.toThrow();
      expect(Object.keys(tests)).not.toEqual([]);
      for (const [test, title] of Object.entries(tests)) {
        expect([test, existsSync(join(root, test))]).toEqual([test, true]);
        expect([title, textOf(test).includes(title)]).toEqual([title, true]);
      }
    },
  );

  it("has a sentence of its own", () => {
    expect(new Set(plantedFaults.map(({ says }) => says)).size).toBe(plantedFaults.length);
  });
});

describe("a sample", () => {
  const list = Array.from({ length: 100 }, (_, n) => n);

  it("is the same for the same seed, in the list's order, and another for another", () => {
    const sample = sampleOf(list, 10, 4);
    expect(sampleOf(list, 10, 4)).toEqual(sample);
    expect(new Set(sample).size).toBe(10);
    expect([...sample].sort((a, b) => a - b)).toEqual(sample);
    expect(sampleOf(list, 10, 5)).not.toEqual(sample);
  });

  it("leaves nothing out over many seeds, and is all where there is no more", () => {
    const drawn = new Set(list.flatMap((seed) => sampleOf(list, 10, seed)));
    expect(drawn.size).toBe(100);
    expect(sampleOf(list, 1_000, 1)).toEqual(list);
  });
});

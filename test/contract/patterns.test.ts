// Every regular expression of the product takes linear time, whatever text it meets: proved by recheck's automata, pattern
// by pattern. So nobody has to know which of them meet foreign text, and a new one that is unsafe fails here.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { patternsIn, patternsOfTheProduct } from "../support/patterns.ts";

const judge = join(import.meta.dirname, "../support/judge-patterns.ts");

function verdictsOn(patterns: readonly { source: string; flags: string }[]): string[] {
  const input = JSON.stringify(patterns.map(({ source, flags }) => [source, flags]));
  return JSON.parse(execFileSync(process.execPath, [judge], { input, encoding: "utf8" }));
}

describe("the product's patterns", () => {
  const { literals, made } = patternsOfTheProduct();

  it("are found", () => {
    expect(literals.length).toBeGreaterThan(100);
    const places = literals.map(({ place }) => place.replace(/:\d+$/, ""));
    for (const file of ["prepare-request.ts", "read-email.ts", "pages/mail-link.js"])
      expect(places).toContainEqual(expect.stringContaining(file));
  });

  it("are all written down: none is made of text while the program runs", () => {
    expect(made).toEqual([]);
  });

  it("are all linear", () => {
    const verdicts = verdictsOn(literals);
    const unsafe = literals
      .map(({ source, place }, at) => ({ place, source, verdict: verdicts[at] }))
      .filter(({ verdict }) => verdict !== "linear");
    expect(unsafe).toEqual([]);
  }, 600_000);
});

describe("what watches over them", () => {
  it("tells what is unsafe, and what cannot be proved, from what is linear", () => {
    const samples = [
      // Took 7 s for 2 kB.
      [/:\d{5,}(?:[/?#]|$)|:[^\]/?#@]*[^\d\]/?#@:][^\]/?#@:]*(?:[/?#]|$)/, "3rd degree polynomial"],
      [/^(?:a|a)+$/, "exponential"],
      // From each place where it may begin.
      [/0+$/, "2nd degree polynomial"],
      [/^(?!.*x)(?:ab?)+$/, "unsupported"],
      [/^[a-z]+(?:-[a-z]+)*$/, "linear"],
    ] as const;
    expect(verdictsOn(samples.map(([pattern]) => pattern))).toEqual(samples.map(([, verdict]) => verdict));
  });

  it("finds literals, and whatever makes a pattern of text", () => {
    const text = `const a: RegExp = /x+/u;
      f(b / c / d, "/no/", /* /no/ */ \`\${/y/.test(z)}\`);
      new RegExp(a); RegExp("q"); t.match("q+"); t.search(\`\${q}\`); t.match(a);`;
    const { literals, made } = patternsIn(text, "x.ts");
    expect(literals.map(({ source, flags, place }) => `${place} /${source}/${flags}`)).toEqual([
      "x.ts:1 /x+/u",
      "x.ts:2 /y/",
    ]);
    expect(made).toEqual(["x.ts:3", "x.ts:3", "x.ts:3", "x.ts:3"]);
  });
});

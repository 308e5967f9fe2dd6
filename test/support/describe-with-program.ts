// Suites that need a program of the machine are skipped by name where it is not. In CI a missing one is a failure.
import { describe, it } from "@jest/globals";

/** @param hint how the program is to be had */
export function describeWithProgram(
  program: string,
  isThere: boolean,
  name: string,
  body: () => void,
  hint = "",
): void {
  if (isThere) return describe(name, body);
  const inCi = process.env["CI"] === "true";
  describe(`${name} (skipped: no ${program} on PATH${hint === "" ? "" : `; ${hint}`})`, () => {
    if (inCi) {
      it(`${program} is on PATH`, () => {
        throw new Error(`no ${program} on PATH`);
      });
    } else it.skip(`needs ${program}`, () => {});
  });
}

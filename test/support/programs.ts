// Programs of the machine that suites need: where they are, and suites that are skipped by name where they are not. In CI
// a missing one is a failure.
import { describe, it } from "@jest/globals";
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** @returns the file of a program on PATH, where Debian keeps servers, or where Go puts what it builds */
export function findProgram(name: string): string | undefined {
  const path = (process.env["PATH"] ?? "").split(":");
  return [...path, "/usr/sbin", "/usr/local/bin", "/usr/bin", join(homedir(), "go/bin")]
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

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

export interface Restartable {
  processId: () => number;
  /** Resolves when it is there, again with the same options. */
  start: () => Promise<void>;
  /** Resolves when it has ended. */
  end: (signal: NodeJS.Signals) => Promise<void>;
}

/** A server that a test ends and starts again. @param isThere resolves when it takes connections */
export function restartable(
  program: string,
  args: readonly string[],
  isThere: () => Promise<unknown>,
  options: SpawnOptions = {},
): Restartable {
  let child: ChildProcess | undefined;
  return {
    processId: () => child?.pid ?? 0,
    async start() {
      child = spawn(program, args, { stdio: "ignore", ...options });
      await isThere();
    },
    async end(signal) {
      const ending = child;
      child = undefined;
      if (ending === undefined) return;
      await new Promise((resolve) => {
        ending.once("exit", resolve);
        // One that was stopped hears nothing else.
        ending.kill("SIGCONT");
        ending.kill(signal);
      });
    },
  };
}

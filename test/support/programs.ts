// Programs of the machine that tests and the bench need: where they are, and how a test ends one and starts it again.
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

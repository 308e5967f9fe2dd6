// A command in a pseudo-terminal of its own, by util-linux's `script`: what is typed reaches it as from a keyboard, so that
// Ctrl-C goes to the whole group, and closing it hangs up.
import { describe, it } from "@jest/globals";
import { spawn, spawnSync } from "node:child_process";
import { eventually } from "./service.ts";

const hasScript = /util-linux/.test(spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "");

export function describeWithTerminal(name: string, body: () => void): void {
  if (hasScript) return describe(name, body);
  describe(`${name} (skipped: no \`script\` of util-linux on PATH)`, () => {
    if (process.env["CI"] === "true") {
      it("script is on PATH", () => {
        throw new Error("no `script` of util-linux on PATH");
      });
    } else it.skip("needs script", () => {});
  });
}

export interface Terminal {
  pid: number;
  /** All that it has shown so far, with the codes of colours. */
  shown(): string;
  /** Resolves with what has been found in what was shown; rejects when the command ends without it, or time is up. */
  shows(pattern: RegExp, msMax?: number): Promise<RegExpExecArray>;
  type(text: string): void;
  /** As when its window is closed. */
  close(): void;
  /** The command's exit code. */
  exited: Promise<number | null>;
}

export const ctrlC = "\u0003";

export function openTerminal(command: string, cwd: string, env: Record<string, string>): Terminal {
  const child = spawn("script", ["-qefc", command, "/dev/null"], {
    cwd,
    env: { TERM: "xterm-256color", SHELL: "/bin/sh", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    shown += chunk;
  });
  child.stdin.on("error", () => {});
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  return {
    pid: child.pid ?? 0,
    shown: () => shown,
    shows: async (pattern, msMax = 60_000) => {
      const found = await eventually(async () => pattern.exec(shown) ?? child.exitCode !== null, msMax);
      if (found === true) throw new Error(`the command ended with ${child.exitCode}:\n${shown}`);
      return found;
    },
    type: (text) => void child.stdin.write(text),
    close: () => void child.kill("SIGKILL"),
    exited,
  };
}

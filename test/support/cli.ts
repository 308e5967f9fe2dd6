// The operators' command line as a program or a CronJob meets it: no terminal, an answer, complaints, an exit code.
import { spawn } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface Ended {
  code: number | null;
  /** Standard output. */
  out: string;
  /** Standard error. */
  err: string;
}

/** Runs `node operators/cli.ts` with exactly these settings (and PATH, HOME). */
export function runCli(env: Record<string, string>, ...args: readonly string[]): Promise<Ended> {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, ["operators/cli.ts", ...args], {
    cwd: root,
    env: { PATH, HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, ...said })));
}

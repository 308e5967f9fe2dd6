// Child processes of the bench: their output goes to a file, as it would in service, and they end by their own pid.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

export const root = join(import.meta.dirname, "../..");
const readyMsMax = 60_000;
const stopMsMax = 20_000;
const pollMs = 5;

/** Every child that runs, also one that is still starting: whatever is left when the bench ends is stopped by its pid. */
const running = new Set<ChildProcess>();

export function track(child: ChildProcess): void {
  running.add(child);
  child.once("error", () => running.delete(child));
  child.once("exit", () => running.delete(child));
}

export async function stopChildren(): Promise<void> {
  await Promise.all([...running].map(stopChild));
}

export interface ProgramOptions {
  command: readonly [string, ...string[]];
  env: Record<string, string>;
  outputFile: string;
}

export interface StartedProgram {
  processId: number;
  stop(): Promise<void>;
  /** What the readiness pattern captured first. */
  captured: string;
  readyMs: number;
}

/** Starts a program and waits until its output matches `ready`. */
export async function startProgram(options: ProgramOptions, ready: RegExp): Promise<StartedProgram> {
  const startedAt = performance.now();
  const child = launch(options);
  const stop = () => stopChild(child);
  for (;;) {
    const output = await readFile(options.outputFile, "utf8");
    const found = ready.exec(output);
    const readyMs = performance.now() - startedAt;
    if (found !== null) return { processId: child.pid ?? 0, stop, captured: found[1] ?? "", readyMs };
    if (hasEnded(child) || readyMs > readyMsMax) {
      await stop();
      throw new Error(`${options.command.join(" ")} did not become ready:\n${output.slice(-2_000)}`);
    }
    await delay(pollMs);
  }
}

// Detached, so that Ctrl-C in a terminal reaches only the bench, which then stops everything in order.
function launch({ command: [program, ...args], env, outputFile }: ProgramOptions): ChildProcess {
  const { PATH = "", HOME = "" } = process.env;
  const output = openSync(outputFile, "w");
  try {
    const child = spawn(program, args, {
      cwd: root,
      env: { PATH, HOME, ...env },
      stdio: ["ignore", output, output],
      detached: true,
    });
    track(child);
    return child;
  } finally {
    closeSync(output);
  }
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null || !child.pid;

async function stopChild(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
  await ended;
  clearTimeout(late);
}

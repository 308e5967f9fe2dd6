// Temporary folders, child processes and conditions for the tests of the embedded server; everything made here is
// gone after `clear()`.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const isRoot = process.getuid?.() === 0;
export const nobody = { uid: 65534, gid: 65534 };
const childFile = fileURLToPath(new URL("./embedded-child.ts", import.meta.url));
const waitMsMax = 20_000;

export type Child = { process: ChildProcess; said: Promise<Record<string, unknown>> };
type ChildOptions = { file?: string; identity?: { uid: number; gid: number }; env?: NodeJS.ProcessEnv };

export class Scene {
  readonly #folders: string[] = [];
  readonly #children: ChildProcess[] = [];

  async folder(parent = tmpdir()): Promise<string> {
    const folder = await mkdtemp(join(parent, "embedded-test-"));
    this.#folders.push(folder);
    return folder;
  }

  spawn(program: string, args: readonly string[], options: ChildOptions = {}): ChildProcess {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...options.env },
      ...options.identity,
    });
    this.#children.push(child);
    return child;
  }

  /** Runs embedded-child.ts; `said` is what it prints, or `{}` when it ends without a word. */
  child(args: readonly string[], options: ChildOptions = {}): Child {
    const child = this.spawn(process.execPath, [options.file ?? childFile, ...args], options);
    const said = (async () => {
      if (child.stdout)
        for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line);
      return {};
    })();
    return { process: child, said };
  }

  async clear(): Promise<void> {
    for (const child of this.#children.splice(0)) await kill(child);
    for (const folder of this.#folders.splice(0))
      await rm(folder, { recursive: true, force: true, maxRetries: 20 });
  }
}

/** What a StartError with this sentence matches; its cause is left open. */
export function startError(message: unknown) {
  return { name: "StartError", message };
}

/** kill -9, and waits for the end. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + waitMsMax; performance.now() < end; await delay(5)) {
    if (await condition()) return;
  }
  throw new Error(`still not so after ${waitMsMax} ms: ${condition.toString()}`);
}

export async function isRunning(pid: number): Promise<boolean> {
  if (process.platform === "linux") {
    // An ended process that nobody has collected has an empty command line.
    return (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")) !== "";
  }
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

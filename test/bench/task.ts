// Short-lived children that do one thing and print one line of JSON: load generators, the bare argon2 loop, the
// policies' comparison. The job goes in as JSON on standard input.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { root, track } from "./program.ts";

export interface RunningTask<Result> {
  result: Promise<Result>;
  /** Asks it to finish early (SIGTERM), once it has said that it hears that; the result still comes. */
  finish(): void;
}

export function startTask<Result>(
  command: readonly [string, ...string[]],
  job: unknown,
): RunningTask<Result> {
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd: root,
    stdio: ["pipe", "pipe", "inherit", "ipc"],
    detached: true,
  });
  const listening = new Promise<void>((resolve) => child.once("message", () => resolve()));
  track(child);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code));
  });
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("the child has no pipes");
  stdin.on("error", () => {});
  stdin.end(JSON.stringify(job));
  const result = Promise.all([text(stdout), ended]).then(([printed, code]) => {
    if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}`);
    // Each of our children prints exactly the result its caller names.
    return JSON.parse(printed) as Result;
  });
  return { result, finish: () => void listening.then(() => child.kill("SIGTERM")) };
}

export function runTask<Result>(command: readonly [string, ...string[]], job: unknown): Promise<Result> {
  return startTask<Result>(command, job).result;
}

/** A program that ends by itself and prints nothing that is read. @returns how long it took, in ms */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  env: Record<string, string>,
): Promise<number> {
  const { PATH = "", HOME = "" } = process.env;
  const startedAt = performance.now();
  const child = spawn(program, args, {
    cwd: root,
    env: { PATH, HOME, ...env },
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
  });
  track(child);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}`);
  return performance.now() - startedAt;
}

/** The command of a child program of this folder. */
export function childProgram(file: string): readonly [string, string] {
  return [process.execPath, `${import.meta.dirname}/${file}`];
}

/** In the child: what `finish` asks for is heard from now on. */
export function onFinish(finish: () => void): void {
  process.on("SIGTERM", finish);
  process.send?.("listening");
  process.disconnect?.();
}

/** In the child: the job. */
export async function readJob<Job>(): Promise<Job> {
  // Written by startTask of this bench, with the type its caller names.
  return JSON.parse(await text(process.stdin)) as Job;
}

// Hosts of tests in network namespaces of their own, and the wire between them (network.py): packets are lost, late or let
// through in one direction only. It needs root, Python, util-linux's nsenter and a kernel that gives namespaces.
import { spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findProgram } from "../programs.ts";
import { type RunningProcess, runProcess } from "../service.ts";

const program = join(import.meta.dirname, "network.py");
const python = findProgram("python3");
const nsenter = findProgram("nsenter");

/** Why there is no such network on this machine; undefined where there is. */
export function whyNoHosts(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root";
  if (python === undefined) return "needs python3";
  if (nsenter === undefined) return "needs nsenter of util-linux";
  if (!existsSync("/dev/net/tun")) return "needs /dev/net/tun";
  const { status } = spawnSync(python, [program, prefixOf(0), "1", "10"], { input: "" });
  return status === 0 ? undefined : "needs a kernel that gives network namespaces";
}

/** The last part of an address. The machine itself has three, so that a fault can be between a host and one of them. */
export const places = { tests: 1, database: 2, bus: 3 } as const;

export interface WireFault {
  /** Of this and the next: a host, one of `places`, or any. */
  from: number | "*";
  to: number | "*";
  cut?: boolean;
  delayMs?: number;
  lossPercent?: number;
}

export interface Hosts {
  seed: number;
  addressOf(host: number): string;
  /** Runs a program there, as runProcess does. */
  run(host: number, env: Record<string, string>): RunningProcess;
  /** Replaces all faults; resolves when they count. */
  set(faults: readonly WireFault[]): Promise<void>;
  stop(): Promise<void>;
}

/** Of the block that is set aside for tests of networks: https://www.rfc-editor.org/rfc/rfc2544#appendix-C.2.2 */
const prefixOf = (number: number) => `198.18.${number}`;

/** @param names last parts of addresses, from 10 on */
export async function startHosts(names: readonly number[], seed = randomInt(1_000_000)): Promise<Hosts> {
  if (python === undefined || nsenter === undefined) throw new Error("no python3 or nsenter on PATH");
  const prefix = prefixOf(randomInt(1, 255));
  const child = spawn(python, [program, prefix, String(seed), ...names.map(String)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<string> => {
    const { value, done } = await answers.next();
    if (done === true) throw new Error("the network has ended");
    return value;
  };
  const holders: Record<string, number> = JSON.parse(await answer());
  return {
    seed,
    addressOf: (host) => `${prefix}.${host}`,
    run(host, env) {
      const holder = holders[String(host)];
      return runProcess(env, undefined, [], [nsenter, `--net=/proc/${holder}/ns/net`]);
    },
    async set(faults) {
      const texts = faults.map((fault) => ({ ...fault, from: String(fault.from), to: String(fault.to) }));
      child.stdin.write(`${JSON.stringify(texts)}\n`);
      await answer();
    },
    async stop() {
      child.stdin.end();
      await ended;
    },
  };
}

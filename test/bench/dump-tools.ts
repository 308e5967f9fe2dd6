// What backups and restores are compared with: COPY through a pipe of ordinary tools, pg_dump and pg_restore. Not all are
// everywhere, and pg_dump refuses a server newer than itself: what is missing is said, and the comparison left out.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { delimiter } from "node:path";
import { text } from "node:stream/consumers";
import type pg from "pg";
import { track } from "./program.ts";

/** A folder with PostgreSQL's client programs, where those on PATH are too old. */
const folder = process.env["BENCH_POSTGRES_BIN"];
const path = [...(folder === undefined ? [] : [folder]), process.env["PATH"] ?? ""].join(delimiter);

export interface Timed {
  ms: number;
  bytes: number;
  /** CPU seconds of the tools, without the server's. */
  cpuS: number;
}

function versionOf(tool: string): string | undefined {
  try {
    return execFileSync(tool, tool === "openssl" ? ["version"] : ["--version"], {
      encoding: "utf8",
      env: { PATH: path },
    });
  } catch {
    return undefined;
  }
}

/** @returns the tools of the list that cannot be used, each with the reason */
export function missing(tools: readonly string[], serverMajor: number): string[] {
  return tools.flatMap((tool) => {
    const version = versionOf(tool);
    if (version === undefined) return [`${tool} (not installed)`];
    const [, major] = /PostgreSQL\) (\d+)/.exec(version) ?? [];
    const isOld = tool.startsWith("pg_") && Number(major) < serverMajor;
    return isOld ? [`${tool} ${serverMajor} (there is ${major}; BENCH_POSTGRES_BIN names a folder)`] : [];
  });
}

/** The same rows as COPY (binary) → zstd -1 → AES-256-CTR, which does not even authenticate, into a file. */
export function pipe(url: string, statements: readonly string[], file: string): Promise<Timed> {
  const copies = statements
    .map((each) => `-c ${quote(`copy ${each} to stdout with (format binary)`)}`)
    .join(" ");
  const key = "0".repeat(64);
  const line = `psql -qX ${quote(url)} ${copies} | zstd -q -1 -T1 | openssl enc -aes-256-ctr -K ${key} -iv ${"0".repeat(32)} > ${quote(file)}`;
  return timed(line, file);
}

export function dump(url: string, file: string): Promise<Timed> {
  return timed(`pg_dump -Fc -f ${quote(file)} -d ${quote(url)}`, file);
}

/** Into an empty database. */
export function load(url: string, file: string): Promise<Timed> {
  return timed(`pg_restore --no-owner -1 -d ${quote(url)} ${quote(file)}`, file);
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** Through bash, whose `times` says at the end what CPU its children took. */
async function timed(command: string, file: string): Promise<Timed> {
  const startedAt = performance.now();
  const child = spawn("bash", ["-o", "pipefail", "-c", `${command} && times`], {
    env: { PATH: path },
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  track(child);
  const ended = once(child, "close");
  const printed = await text(child.stdout);
  const [code] = await ended;
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
  return { ms: performance.now() - startedAt, bytes: statSync(file).size, cpuS: cpuIn(printed) };
}

/** The second line is the children's: `0m1.234s 0m0.100s`. */
function cpuIn(times: string): number {
  const [, children = ""] = times.trim().split("\n");
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, m, s]) => sum + Number(m) * 60 + Number(s),
    0,
  );
}

export async function serverMajor(owner: pg.Client): Promise<number> {
  const { rows } = await owner.query<{ server_version_num: string }>("show server_version_num");
  return Math.floor(Number(rows[0]?.server_version_num) / 10_000);
}

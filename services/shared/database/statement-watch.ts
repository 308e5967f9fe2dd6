// Each statement's time: a span in the trace that it is part of, and a line in the log where it took too long. Both name the
// statement and have no value of it: its own name, or what it does to which table. The text is fixed (values are parameters),
// so is what is read from it.
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { errorCode } from "../start-error.ts";
import { currentTrail, type OpenSpan } from "../tracing.ts";

const linesEachWindow = 20;
const windowMs = 60_000;
const namesMax = 1_000;

interface Slow {
  readonly ms: number;
  readonly log: Logger;
  windowEndsAt: number;
  lines: number;
  leftOut: number;
}

/** One per process, as there is one pool; undefined while nobody wants to know. */
let slow: Slow | undefined;

/** @param ms statements that take longer are told; 0: none */
export function watchSlowStatements(ms: number, log: Logger): void {
  slow = ms === 0 ? undefined : { ms, log, windowEndsAt: 0, lines: 0, leftOut: 0 };
}

export interface Watched {
  readonly span: OpenSpan | undefined;
  readonly startedAt: number;
}

export function beginStatement(text: string, name?: string): Watched {
  const span = currentTrail()?.span?.child(statementName(text, name), "client", {
    "db.system.name": "postgresql",
  });
  return { span, startedAt: performance.now() };
}

export function endStatement(
  { span, startedAt }: Watched,
  text: string,
  name?: string,
  error?: unknown,
): void {
  if (error === undefined || error === null) span?.end();
  else span?.end(sqlState(error));
  if (slow === undefined) return;
  const ms = performance.now() - startedAt;
  if (ms >= slow.ms) tellSlow(slow, statementName(text, name), ms);
}

/** The same around a promise. */
export async function watched<T>(text: string, name: string | undefined, run: () => Promise<T>): Promise<T> {
  const begun = beginStatement(text, name);
  try {
    const result = await run();
    endStatement(begun, text, name);
    return result;
  } catch (error) {
    endStatement(begun, text, name, error);
    throw error;
  }
}

function tellSlow(into: Slow, statement: string, ms: number): void {
  const now = performance.now();
  if (now >= into.windowEndsAt) Object.assign(into, { windowEndsAt: now + windowMs, lines: 0 });
  if (into.lines >= linesEachWindow) {
    into.leftOut++;
    return;
  }
  into.lines++;
  const leftOut = into.leftOut === 0 ? undefined : into.leftOut;
  into.leftOut = 0;
  into.log.warn({ statement, durationMs: Math.round(ms), leftOut }, "slow statement");
}

function sqlState(error: unknown): string {
  const code = errorCode(error);
  return /^[A-Z0-9_]{2,40}$/.test(code) ? code : "error";
}

const names = new LRUCache<string, string>({ max: namesMax, memoMethod: readName });

/** @returns `users.list` where it has a name of its own, else `update webhooks` */
export function statementName(text: string, name?: string): string {
  // Names that are numbered say nothing to a reader (preparedName in scope.ts).
  if (name !== undefined && !name.startsWith("composed_")) return name;
  return names.memo(text);
}

function readName(text: string): string {
  const [, verb = "statement"] = /^\s*([a-z]{2,12})\b/i.exec(text) ?? [];
  const [, table] =
    /\b(?:from|into|update|join)\s"?([a-z_]\w*)\b/i.exec(text) ?? /^select\s([a-z_]\w*)\(/i.exec(text) ?? [];
  const plain = verb.toLowerCase();
  return table === undefined ? plain : `${plain} ${table.toLowerCase()}`;
}

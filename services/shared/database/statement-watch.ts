// Measures each statement: it makes a span in the current trace, and a log line for a slow statement. Both name the statement, by
// its own name or by what it does to which table. They hold no values: values are parameters and not part of the text.
import { LRUCache } from "lru-cache";
import type { Logger } from "pino";
import { errorCode } from "../start-error.ts";
import { currentContext, type OpenSpan } from "../tracing.ts";

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

/** One per process, because there is one pool; undefined while slow statements are not logged. */
let slow: Slow | undefined;

/** @param ms statements that take longer are logged; 0: none. At most 20 lines a minute are written. */
export function watchSlowStatements(ms: number, log: Logger): void {
  slow = ms === 0 ? undefined : { ms, log, windowEndsAt: 0, lines: 0, leftOut: 0 };
}

export interface StatementTimer {
  readonly span: OpenSpan | undefined;
  readonly startedAt: number;
}

/** Starts to measure a statement. @param name its own name, if it has one */
export function beginStatement(text: string, name?: string): StatementTimer {
  const span = currentContext()?.span?.child(statementName(text, name), "client", {
    "db.system.name": "postgresql",
  });
  return { span, startedAt: performance.now() };
}

/** Ends the span, and logs the statement if it was slow. @param error what it failed with; null or undefined for success */
export function endStatement(
  { span, startedAt }: StatementTimer,
  text: string,
  name?: string,
  error?: unknown,
): void {
  if (error === undefined || error === null) span?.end();
  else span?.end(sqlState(error));
  if (slow === undefined) return;
  const ms = performance.now() - startedAt;
  if (ms >= slow.ms) logSlow(slow, statementName(text, name), ms);
}

/** Measures a statement that returns a promise. */
export async function timed<T>(text: string, name: string | undefined, run: () => Promise<T>): Promise<T> {
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

function logSlow(into: Slow, statement: string, ms: number): void {
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

/** @returns the statement's own name, for example `users.list`, otherwise what it does, for example `update webhooks` */
export function statementName(text: string, name?: string): string {
  // Numbered names say nothing to a reader (preparedName in scope.ts).
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

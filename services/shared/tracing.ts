// Who a piece of work is done for, wherever it is done: the request's id and, where its trace is recorded, the span that it is
// part of. It follows what is awaited (AsyncLocalStorage), so log lines, statements and jobs know it without being told.
// Nothing of OpenTelemetry is loaded here: spans are made by what `tracing/open-tracing.ts` loads when it is switched on.
import { AsyncLocalStorage } from "node:async_hooks";

export type SpanKind = "server" | "client" | "consumer" | "internal";
/** Names, ids and counts of ours; never a value of a request, a name, a token or a patient's text. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

/** A span that is recorded and not over yet. */
export interface OpenSpan {
  readonly traceId: string;
  /** As W3C's header has it, to be continued elsewhere. */
  readonly traceparent: string;
  child(name: string, kind: SpanKind, facts?: SpanFacts): OpenSpan;
  rename(name: string): void;
  note(facts: SpanFacts): void;
  /** @param error the code of what it failed with; `isFault` when that is our fault and not the caller's */
  end(error?: string, isFault?: boolean): void;
}

export interface Tracer {
  /** A trace of its own, or undefined when this one is not recorded. @param link a foreign trace, as `traceparent` */
  begin(name: string, kind: SpanKind, facts: SpanFacts, link?: string): OpenSpan | undefined;
  /** Goes on in a trace of ours; undefined where that is not recorded. */
  goOn(traceparent: unknown, name: string, kind: SpanKind, facts: SpanFacts): OpenSpan | undefined;
}

export interface Trail {
  readonly requestId: string | undefined;
  readonly span: OpenSpan | undefined;
}

const trails = new AsyncLocalStorage<Trail | undefined>();

export const currentTrail = (): Trail | undefined => trails.getStore();

export function follow<T>(trail: Trail | undefined, work: () => T): T {
  return trails.run(trail, work);
}

/** For what a request sets off but does not wait for, and what goes on for others: it is nobody's. */
export function detached<T>(work: () => T): T {
  return trails.run(undefined, work);
}

/** What is done for several at once is shown in the trace of one of them: the first that is recorded. */
export function followOneOf<T>(givenTrails: Iterable<Trail | undefined>, work: () => T): T {
  let chosen: Trail | undefined;
  for (const trail of givenTrails) {
    chosen ??= trail;
    if (trail?.span === undefined) continue;
    chosen = trail;
    break;
  }
  return trails.run(chosen, work);
}

/** Runs `work` within a span and ends that with it. */
export async function within<T>(trail: Trail & { span: OpenSpan }, work: () => Promise<T>): Promise<T> {
  const { span } = trail;
  try {
    const result = await trails.run(trail, work);
    span.end();
    return result;
  } catch (error) {
    const { type, code } = error as { type?: unknown; code?: unknown };
    const isOurs = typeof type === "string";
    // A type is a word of ours, a code an SQLSTATE or Node's; a message may quote what somebody sent.
    span.end(isOurs ? type : shortWord(code), !isOurs || (typeof code === "number" && code >= 500));
    throw error;
  }
}

/** A part of what is being done, where that is recorded. */
export function inSpan<T>(name: string, kind: SpanKind, work: () => Promise<T>): Promise<T> {
  const trail = trails.getStore();
  const span = trail?.span?.child(name, kind);
  return span === undefined ? work() : within({ requestId: trail?.requestId, span }, work);
}

function shortWord(code: unknown): string {
  return typeof code === "string" && /^[A-Z0-9_]{2,40}$/.test(code) ? code : "error";
}

/** For every line of the log: what it is about. A new object each time, as the log adds to it. */
export function logFacts(): { requestId?: string; traceId?: string } {
  const trail = trails.getStore();
  if (trail === undefined) return {};
  const { requestId, span } = trail;
  if (requestId === undefined) return span === undefined ? {} : { traceId: span.traceId };
  return span === undefined ? { requestId } : { requestId, traceId: span.traceId };
}

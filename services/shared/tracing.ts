// The context of a piece of work: the id of its request and, if its trace is recorded, the current span. AsyncLocalStorage
// carries it along with everything that is awaited, so log lines, statements and jobs know it without parameters. OpenTelemetry
// is not loaded here: spans are made by the code that `tracing/open-tracing.ts` loads when tracing is switched on.
import { AsyncLocalStorage } from "node:async_hooks";

export type SpanKind = "server" | "client" | "consumer" | "internal";
/** Names, ids and counts of this program; never a value of a request, a name, a token or a patient's text. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>;

/** A recorded span that has not ended yet. */
export interface OpenSpan {
  readonly traceId: string;
  /** In the format of W3C's header, to be continued in another process. */
  readonly traceparent: string;
  child(name: string, kind: SpanKind, facts?: SpanFacts): OpenSpan;
  rename(name: string): void;
  addFacts(facts: SpanFacts): void;
  /** @param error the code of the failure @param isFault whether it is an error of this program and not of the caller */
  end(error?: string, isFault?: boolean): void;
}

export interface Tracer {
  /** Starts a trace; undefined if it is not sampled. @param link a foreign trace, as a `traceparent` */
  begin(name: string, kind: SpanKind, facts: SpanFacts, link?: string): OpenSpan | undefined;
  /** Continues a trace of ours; undefined if it is not recorded. */
  continue(traceparent: unknown, name: string, kind: SpanKind, facts: SpanFacts): OpenSpan | undefined;
}

export interface WorkContext {
  readonly requestId: string | undefined;
  readonly span: OpenSpan | undefined;
}

const contexts = new AsyncLocalStorage<WorkContext | undefined>();

/** @returns the context of the running work; undefined outside of a request or job */
export const currentContext = (): WorkContext | undefined => contexts.getStore();

/** Runs work within the given context. */
export function runInContext<T>(context: WorkContext | undefined, work: () => T): T {
  return contexts.run(context, work);
}

/**
 * Runs work without a context: for work that a request starts and does not await, and for work that serves later requests too.
 */
export function detached<T>(work: () => T): T {
  return contexts.run(undefined, work);
}

/** Runs work for several requests in the context of one of them: the first whose trace is recorded. */
export function runInOneOf<T>(givenContexts: Iterable<WorkContext | undefined>, work: () => T): T {
  let chosen: WorkContext | undefined;
  for (const context of givenContexts) {
    chosen ??= context;
    if (context?.span === undefined) continue;
    chosen = context;
    break;
  }
  return contexts.run(chosen, work);
}

/** Runs `work` within a span, and ends the span with it. */
export async function runWithSpan<T>(
  context: WorkContext & { span: OpenSpan },
  work: () => Promise<T>,
): Promise<T> {
  const { span } = context;
  try {
    const result = await contexts.run(context, work);
    span.end();
    return result;
  } catch (error) {
    const { type, code } = error as { type?: unknown; code?: unknown };
    const isOurs = typeof type === "string";
    // A type is a constant of ours, and a code is an SQLSTATE or one of Node's. A message is not recorded: it may quote input.
    span.end(isOurs ? type : shortWord(code), !isOurs || (typeof code === "number" && code >= 500));
    throw error;
  }
}

/** Runs a part of the work in a span of its own, if the trace is recorded. */
export function runInChildSpan<T>(name: string, kind: SpanKind, work: () => Promise<T>): Promise<T> {
  const context = contexts.getStore();
  const span = context?.span?.child(name, kind);
  return span === undefined ? work() : runWithSpan({ requestId: context?.requestId, span }, work);
}

function shortWord(code: unknown): string {
  return typeof code === "string" && /^[A-Z0-9_]{2,40}$/.test(code) ? code : "error";
}

/** The fields of the context for a log line. A new object each time, because the log adds to it. */
export function logFacts(): { requestId?: string; traceId?: string } {
  const context = contexts.getStore();
  if (context === undefined) return {};
  const { requestId, span } = context;
  if (requestId === undefined) return span === undefined ? {} : { traceId: span.traceId };
  return span === undefined ? { requestId } : { requestId, traceId: span.traceId };
}

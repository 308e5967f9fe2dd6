// The trace of a metric's sample, for exemplars: they lead from a slow bucket to one slow request. Without tracing this costs
// only a look at the current context (tracing.ts).
import { currentContext } from "../../services/shared/tracing.ts";

export interface TraceOf {
  readonly traceId: string;
  readonly spanId: string;
}

/** The current span, if it is recorded. */
export function currentTrace(): TraceOf | undefined {
  const span = currentContext()?.span;
  if (span === undefined) return undefined;
  // W3C's header: version, trace, span, flags.
  return { traceId: span.traceId, spanId: span.traceparent.split("-")[2] ?? "" };
}

// The trace that a figure belongs to, for exemplars: the way from a slow bucket to one request that was slow. Where nothing is
// traced, asking costs a look at what is followed anyway (tracing.ts).
import { currentContext } from "../../services/shared/tracing.ts";

export interface TraceOf {
  readonly traceId: string;
  readonly spanId: string;
}

/** Of the span under way, if it is recorded. */
export function currentTrace(): TraceOf | undefined {
  const span = currentContext()?.span;
  if (span === undefined) return undefined;
  // W3C's header: version, trace, span, flags.
  return { traceId: span.traceId, spanId: span.traceparent.split("-")[2] ?? "" };
}

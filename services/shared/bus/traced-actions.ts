// Makes actions part of a trace. A call within the process continues the trace of its caller. A call over the bus brings
// `traceparent` in its meta, encrypted like the rest of it, if its trace is recorded.
import type { Context } from "moleculer";
import { Caller } from "../caller.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { currentContext, runInContext, runWithSpan } from "../tracing.ts";

type Handler = (ctx: Context) => Promise<unknown>;

/** Runs each call of an action in the context of its request, and in a span if its trace is recorded. */
export function tracedAction(next: Handler, { name = "" }: { name?: string }, runtime: Runtime): Handler {
  const facts = { "rpc.system.name": "moleculer", "rpc.method": name };
  return (ctx) => {
    const around = currentContext();
    const requestId = ctx.requestID ?? around?.requestId ?? requestIdOf(ctx);
    const span =
      around === undefined
        ? runtime.tracing.tracer?.continue(
            (ctx.meta as { traceparent?: unknown }).traceparent,
            name,
            "server",
            facts,
          )
        : around.span?.child(name, "internal", facts);
    if (span !== undefined) return runWithSpan({ requestId, span }, () => next(ctx));
    return around?.requestId === requestId ? next(ctx) : runInContext({ requestId, span }, () => next(ctx));
  };
}

/** @returns the request id of a call that starts in this process: at the REPL, or by the service itself */
function requestIdOf({ meta }: Context): string | undefined {
  const { caller } = meta as { caller?: unknown };
  return caller instanceof Caller ? caller.facts.requestId : undefined;
}

/**
 * On the caller's side, for calls that leave the process. A call inherits the meta of its caller, so the field is set or removed.
 */
export function withTraceparent(next: Handler): Handler {
  return (ctx) => {
    const meta = ctx.meta as { traceparent?: string };
    const span = currentContext()?.span;
    if (span !== undefined) meta.traceparent = span.traceparent;
    else if (meta.traceparent !== undefined) delete meta.traceparent;
    return next(ctx);
  };
}

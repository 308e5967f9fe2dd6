// Actions as parts of a trace. A call within the process goes on where its caller is; one that comes over the bus brings
// `traceparent` in its meta, sealed like all of it, where its trace is recorded.
import type { Context } from "moleculer";
import { Caller } from "../caller.ts";
import type { Runtime } from "../../../host/process/runtime.ts";
import { currentTrail, follow, within } from "../tracing.ts";

type Handler = (ctx: Context) => Promise<unknown>;

export function trailed(next: Handler, { name = "" }: { name?: string }, runtime: Runtime): Handler {
  const facts = { "rpc.system.name": "moleculer", "rpc.method": name };
  return (ctx) => {
    const around = currentTrail();
    const requestId = ctx.requestID ?? around?.requestId ?? requestIdOf(ctx);
    const span =
      around === undefined
        ? runtime.tracing.tracer?.goOn(
            (ctx.meta as { traceparent?: unknown }).traceparent,
            name,
            "server",
            facts,
          )
        : around.span?.child(name, "internal", facts);
    if (span !== undefined) return within({ requestId, span }, () => next(ctx));
    return around?.requestId === requestId ? next(ctx) : follow({ requestId, span }, () => next(ctx));
  };
}

/** Of a call that begins in this process: at the REPL, or by the service itself. */
function requestIdOf({ meta }: Context): string | undefined {
  const { caller } = meta as { caller?: unknown };
  return caller instanceof Caller ? caller.facts.requestId : undefined;
}

/** On the caller's side, for calls that leave the process. A call's meta begins as its caller's, so it is set or taken away. */
export function toldTrail(next: Handler): Handler {
  return (ctx) => {
    const meta = ctx.meta as { traceparent?: string };
    const span = currentTrail()?.span;
    if (span !== undefined) meta.traceparent = span.traceparent;
    else if (meta.traceparent !== undefined) delete meta.traceparent;
    return next(ctx);
  };
}

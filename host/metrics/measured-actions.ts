// Measures the durations and outcomes of actions: on the node that runs them, and at callers on other nodes.
import type { Context } from "moleculer";
import type { Runtime } from "../process/runtime.ts";

type Handler = (ctx: Context) => Promise<unknown>;

/** Measures at the node that runs the action. The outcome is `ok` or the code of the error. */
export function measuredAction(
  next: Handler,
  { name = "" }: { name?: string },
  { metrics }: Runtime,
): Handler {
  if (metrics === undefined) return next;
  return async (ctx) => {
    const startedAt = performance.now();
    let outcome = "ok";
    try {
      return await next(ctx);
    } catch (error) {
      const { type } = error as { type?: unknown };
      outcome = typeof type === "string" ? type : "internal_error";
      throw error;
    } finally {
      metrics.action(name, outcome, (performance.now() - startedAt) / 1000);
    }
  };
}

/** Measures at the caller's side, until the answer arrives. */
export function timedCall(next: Handler, name = "", { metrics }: Runtime): Handler {
  if (metrics === undefined) return next;
  return async (ctx) => {
    const startedAt = performance.now();
    let outcome: "ok" | "failed" = "failed";
    try {
      const answer = await next(ctx);
      outcome = "ok";
      return answer;
    } finally {
      metrics.call(name, outcome, (performance.now() - startedAt) / 1000);
    }
  };
}

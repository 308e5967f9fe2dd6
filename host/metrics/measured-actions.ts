// How long actions take, and how they end: on their own node, and as their callers on other nodes see it.
import type { Context } from "moleculer";
import type { Runtime } from "../process/runtime.ts";

type Handler = (ctx: Context) => Promise<unknown>;

export function measured(next: Handler, { name = "" }: { name?: string }, { metrics }: Runtime): Handler {
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

/** On the caller's side, until the answer is here. */
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

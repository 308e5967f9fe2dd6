// The origin of a job, stored in its payload: the id of the request that enqueued it, for log lines, and the trace of that
// request. The task itself does not see it.
import { currentContext } from "./tracing.ts";

const field = "_origin";

export interface Origin {
  requestId: string | undefined;
  traceparent: string | undefined;
}

/** @returns the payload with the origin of the current request; unchanged if there is none */
export function withOrigin(payload: Record<string, unknown>): Record<string, unknown> {
  const context = currentContext();
  if (context?.requestId === undefined && context?.span === undefined) return payload;
  const origin: Origin = { requestId: context.requestId, traceparent: context.span?.traceparent };
  return { ...payload, [field]: origin };
}

/** @returns the payload for the task, and the origin of the job */
export function separateOrigin(payload: unknown): { given: unknown; origin: Origin } {
  const origin: Origin = { requestId: undefined, traceparent: undefined };
  if (typeof payload !== "object" || payload === null || !(field in payload))
    return { given: payload, origin };
  const { [field]: found, ...given } = payload;
  const { requestId, traceparent } = (found ?? {}) as Record<string, unknown>;
  if (typeof requestId === "string") origin.requestId = requestId;
  if (typeof traceparent === "string") origin.traceparent = traceparent;
  return { given, origin };
}

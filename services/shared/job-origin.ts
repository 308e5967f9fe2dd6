// What a job's payload says of who set it off: the request's id, for its log lines, and the trace that it is part of. The task
// itself never sees it.
import { currentTrail } from "./tracing.ts";

const field = "_origin";

export interface Origin {
  requestId: string | undefined;
  traceparent: string | undefined;
}

export function withOrigin(payload: Record<string, unknown>): Record<string, unknown> {
  const trail = currentTrail();
  if (trail?.requestId === undefined && trail?.span === undefined) return payload;
  const origin: Origin = { requestId: trail.requestId, traceparent: trail.span?.traceparent };
  return { ...payload, [field]: origin };
}

/** @returns the payload as the task knows it, and who set it off */
export function apart(payload: unknown): { given: unknown; origin: Origin } {
  const origin: Origin = { requestId: undefined, traceparent: undefined };
  if (typeof payload !== "object" || payload === null || !(field in payload))
    return { given: payload, origin };
  const { [field]: found, ...given } = payload;
  const { requestId, traceparent } = (found ?? {}) as Record<string, unknown>;
  if (typeof requestId === "string") origin.requestId = requestId;
  if (typeof traceparent === "string") origin.traceparent = traceparent;
  return { given, origin };
}

// W3C's traceparent, version 00: https://www.w3.org/TR/trace-context/#traceparent-header

export interface TraceRef {
  traceId: string;
  spanId: string;
  traceFlags: number;
}

/** @returns undefined for a text in another form */
export function readTraceparent(text: unknown): TraceRef | undefined {
  const found =
    typeof text === "string" ? /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(text) : null;
  const [, traceId = "", spanId = "", flags = ""] = found ?? [];
  // All zeros are invalid.
  if (found === null || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1 };
}

// A request's trace. It always is one of our own, sampled by our own settings: a `traceparent` that a client sends becomes a
// link to the client's trace. Taken as the parent it would let strangers decide what is recorded here, and under which id.
import type { IncomingMessage } from "node:http";
import type { Tracer, WorkContext } from "../shared/tracing.ts";
import type { GatewayRequest } from "./gateway-request.ts";

export function beginContext(
  tracer: Tracer | undefined,
  requestId: string,
  { method = "-", headers }: IncomingMessage,
): WorkContext {
  if (tracer === undefined) return { requestId, span: undefined };
  const facts = { "http.request.method": method, "records.request_id": requestId };
  const link = headers["traceparent"];
  return {
    requestId,
    span: tracer.begin(method, "server", facts, typeof link === "string" ? link : undefined),
  };
}

/** The route's template, never the address; ids of clinics and people are in the log, under the same ids. */
export function endContext(
  { context: { span }, endpoint, method, errorCode }: GatewayRequest,
  status: number,
): void {
  if (span === undefined) return;
  if (endpoint !== undefined) {
    span.rename(`${method} ${endpoint.route.path}`);
    span.addFacts({ "http.route": endpoint.route.path });
  }
  span.addFacts({ "http.response.status_code": status });
  span.end(status < 400 ? undefined : (errorCode ?? String(status)), status >= 500);
}

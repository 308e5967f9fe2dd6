// One line per request: caller, operation (the template of the route, never the path with its query), result, duration.
import type { ServerResponse } from "node:http";
import { levelsOf } from "../shared/log-levels.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { runInContext } from "../shared/tracing.ts";
import type { GatewayRequest } from "./gateway-request.ts";
import { endContext } from "./request-context.ts";

export function accessLog({
  log,
  metrics,
}: Runtime): (request: GatewayRequest, response: ServerResponse) => void {
  // Redaction checks every field of a line. These names are excluded, because their values cannot be secret.
  const lines = levelsOf(log).child("access", { redact: [] });
  return (request, response) => {
    const startedAt = performance.now();
    const close = () => {
      const principal = request.caller?.principal;
      const user =
        principal?.kind === "user" ? { tenantId: principal.tenantId, userId: principal.userId } : undefined;
      const { method = "-", endpoint } = request;
      const route = endpoint?.route.path ?? "-";
      const status = response.writableFinished ? response.statusCode : 499;
      const durationMs = performance.now() - startedAt;
      metrics?.request(method, route, status, durationMs / 1000);
      lines.info({
        method,
        route,
        status,
        error: request.errorCode,
        durationMs: Math.round(durationMs * 100) / 100,
        ip: request.clientIp,
        ...user,
      });
      endContext(request, status);
    };
    // The event 'close' may be emitted in the context of another request.
    response.once("close", () => runInContext(request.context, close));
  };
}

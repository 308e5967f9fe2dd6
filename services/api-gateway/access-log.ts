// One line per request: who, what (the route's template, never the address with its query), how it ended, how long.
import type { ServerResponse } from "node:http";
import type { Logger } from "pino";
import type { GatewayRequest } from "./gateway-request.ts";

export function accessLog(log: Logger): (request: GatewayRequest, response: ServerResponse) => void {
  const lines = log.child({ mod: "access" });
  return (request, response) => {
    const startedAt = performance.now();
    response.once("close", () => {
      const principal = request.caller?.principal;
      const user =
        principal?.kind === "user" ? { tenantId: principal.tenantId, userId: principal.userId } : undefined;
      lines.info({
        requestId: request.requestId,
        method: request.method,
        route: request.endpoint?.route.path ?? "-",
        status: response.writableFinished ? response.statusCode : 499,
        error: request.errorCode,
        durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
        ip: request.clientIp,
        ...user,
      });
    });
  };
}

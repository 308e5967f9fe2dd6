// One line per request: who, what (the route's template, never the address with its query), how it ended, how long.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";
import type { Caller } from "../shared/caller.ts";
import type { Endpoint } from "./endpoint.ts";

interface Logged extends IncomingMessage {
  requestId: string;
  clientIp: string | null;
  endpoint?: Endpoint;
  caller?: Caller;
  errorCode?: string;
}

export function accessLog(log: Logger): (request: Logged, response: ServerResponse) => void {
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

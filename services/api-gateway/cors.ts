// Cross-origin requests from the origins in the settings. Other origins get no CORS headers. No cookies are used.
import type { IncomingMessage, ServerResponse } from "node:http";

const preflightSeconds = "600";

/** @returns whether the request was a preflight and has been answered */
export function corsFor(
  origins: readonly string[],
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const any = origins.includes("*");
  return (request, response) => {
    if (origins.length === 0) return false;
    response.setHeader("Vary", "Origin");
    const { origin } = request.headers;
    if (origin === undefined || !(any || origins.includes(origin))) return false;
    response.setHeader("Access-Control-Allow-Origin", any ? "*" : origin);
    response.setHeader("Access-Control-Expose-Headers", "X-Request-Id, Retry-After, X-Device-Id");
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined)
      return false;
    response.writeHead(204, {
      "Access-Control-Allow-Methods": "GET, POST, PUT, DELETE",
      "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Request-Id, X-Device-Id",
      "Access-Control-Max-Age": preflightSeconds,
    });
    response.end();
    return true;
  };
}

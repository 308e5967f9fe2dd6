// Every request has an id: it is returned in X-Request-Id, logged and audited. A client's own id is used if it is harmless.
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

const acceptable = /^[\w-]{8,64}$/;

export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && acceptable.test(given) ? given : randomUUID();
}

// Properties of an HTTP request while it is answered.
import type { IncomingMessage } from "node:http";
import type { WorkContext } from "../shared/tracing.ts";
import type { Caller } from "../shared/caller.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Held } from "./load.ts";

export interface GatewayRequest extends IncomingMessage {
  /** The URL as it was sent; a property of moleculer-web. */
  originalUrl?: string;
  requestId: string;
  /** Context of its log lines and, if it is recorded, of its trace. */
  context: WorkContext;
  clientIp: string | null;
  /** Set once the route is known. */
  endpoint?: Endpoint;
  /** Set while the request is in progress. */
  held?: Held;
  pathParams?: Record<string, unknown>;
  /** Set once the holder of the token is known. */
  caller?: Caller;
  /** The code of the error in its answer, for the access log. */
  errorCode?: string;
  /** A property of moleculer-web: first the parameters of the path, then those of the call. */
  $params: Record<string, unknown> & { params?: Record<string, unknown> };
  /** A property of moleculer-web: the action on the chosen node. */
  $endpoint?: unknown;
  $alias?: { path: string; method: string };
}

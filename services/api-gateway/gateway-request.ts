// What hangs on an HTTP request while it is answered.
import type { IncomingMessage } from "node:http";
import type { WorkContext } from "../shared/tracing.ts";
import type { Caller } from "../shared/caller.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Held } from "./load.ts";

export interface GatewayRequest extends IncomingMessage {
  /** The address as it came; moleculer-web's. */
  originalUrl?: string;
  requestId: string;
  /** For its log lines and, where it is recorded, its trace. */
  context: WorkContext;
  clientIp: string | null;
  /** Set once a route was found. */
  endpoint?: Endpoint;
  /** Set while it is worked on. */
  held?: Held;
  pathParams?: Record<string, unknown>;
  /** Set once the token's holder is known. */
  caller?: Caller;
  /** The code of the error it was answered with, for the access log. */
  errorCode?: string;
  /** moleculer-web's: first what the path held, then what the action is called with. */
  $params: Record<string, unknown> & { params?: Record<string, unknown> };
  /** moleculer-web's: the action on the node that is to be called. */
  $endpoint?: unknown;
  $alias?: { path: string; method: string };
}

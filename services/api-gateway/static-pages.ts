// Pages and files beside the API.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Config } from "../shared/config.ts";

/** @returns a handler that says whether it has answered the request */
export function staticPages(
  _config: Config,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return () => false;
}

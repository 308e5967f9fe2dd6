// The route table made ready: moleculer-web's aliases, the endpoint behind each, and what to say of a path that has none.
import { ServiceError } from "../shared/errors.ts";
import { Endpoint } from "./endpoint.ts";
import type { GatewayRequest } from "./gateway-request.ts";
import { type Route, routes } from "./routes.ts";

const aliasOf = ({ method, path }: Route) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;

/** "GET /api/users/me" → "users.me", as moleculer-web takes it. */
export const aliases: Record<string, string> = Object.fromEntries(
  routes.map((route) => [aliasOf(route), route.action]),
);

const endpoints = new Map(routes.map((route) => [aliasOf(route), new Endpoint(route)]));

const templates = [...new Set(routes.map(({ path }) => path))].map((path) => ({
  parts: path.split("/"),
  allow: routes.filter((route) => route.path === path).map(({ method }) => method),
}));

/** A parameter stands for one part of a path, whatever it is, but something. */
function matches(template: readonly string[], parts: readonly string[]): boolean {
  if (template.length !== parts.length) return false;
  return template.every((part, at) => (part.startsWith("{") ? parts[at] !== "" : part === parts[at]));
}

export class MethodNotAllowed extends ServiceError {
  readonly allow: string;
  constructor(allow: readonly string[]) {
    super(405, "method_not_allowed", "Method not allowed");
    this.allow = allow.join(", ");
  }
}

export function endpointOf({ $alias: alias }: GatewayRequest): Endpoint {
  const endpoint = endpoints.get(`${alias?.method} /${alias?.path.replace(/^\//, "")}`);
  if (endpoint === undefined) throw new ServiceError(404, "not_found", "Not found");
  return endpoint;
}

/** 405 when the path exists with other methods, else 404. */
export function notRouted(request: GatewayRequest): ServiceError {
  // moleculer-web cuts the address it looks up, so that "//api" would pass for "/api".
  const path = (request.originalUrl ?? request.url)?.split("?")[0] ?? "/";
  const parts = (path.endsWith("/") ? path.slice(0, -1) : path).split("/");
  const allow = templates
    .filter(({ parts: template }) => matches(template, parts))
    .flatMap((each) => each.allow);
  if (allow.length === 0) return new ServiceError(404, "not_found", "Not found");
  return new MethodNotAllowed([...new Set(allow)]);
}

/** What went wrong before a route was found (a path that cannot be decoded) names nothing. */
export function routingError(request: GatewayRequest, error: unknown): unknown {
  if (request.endpoint !== undefined || error instanceof ServiceError) return error;
  const isRouting =
    error instanceof URIError || (error instanceof Error && /NotFoundError|BadRequestError/.test(error.name));
  return isRouting ? notRouted(request) : error;
}

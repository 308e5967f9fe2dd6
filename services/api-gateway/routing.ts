// The compiled route table: the aliases of moleculer-web, the endpoint of each route, and the answer for a path without one.
import { ServiceError } from "../shared/errors.ts";
import { Endpoint } from "./endpoint.ts";
import type { GatewayRequest } from "./gateway-request.ts";
import { contractOf, routes } from "./routes.ts";

const aliasOf = ({ method, path }: { method: string; path: string }) =>
  `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;

/** HEAD is GET without the body. Not for files: a request for a file may use up its link. */
const headsOf = routes.filter((route) => route.method === "GET" && contractOf(route).download !== true);

/** "GET /api/users/me" → "users.me", as moleculer-web expects it. It searches in order, so HEAD comes last. */
export const aliases: Record<string, string> = Object.fromEntries([
  ...routes.map((route) => [aliasOf(route), route.action]),
  ...headsOf.map((route) => [aliasOf({ ...route, method: "HEAD" }), route.action]),
]);

const endpoints = new Map(routes.map((route) => [aliasOf(route), new Endpoint(route)]));
for (const route of headsOf) {
  const endpoint = endpoints.get(aliasOf(route));
  if (endpoint !== undefined) endpoints.set(aliasOf({ ...route, method: "HEAD" }), endpoint);
}

const templates = [...new Set(routes.map(({ path }) => path))].map((path) => ({
  parts: path.split("/"),
  isFixed: !path.includes("{"),
  allow: [
    ...routes.filter((route) => route.path === path).map(({ method }): string => method),
    ...(headsOf.some((route) => route.path === path) ? ["HEAD"] : []),
  ],
}));
/** Each path without parameters, and its methods. */
const fixed = new Map(
  templates.filter(({ isFixed }) => isFixed).map(({ parts, allow }) => [parts.join("/"), new Set(allow)]),
);

/** A parameter matches one non-empty part of a path. */
function matches(template: readonly string[], parts: readonly string[]): boolean {
  if (template.length !== parts.length) return false;
  return template.every((part, at) => (part.startsWith("{") ? isReadable(parts[at]) : part === parts[at]));
}

function isReadable(part = ""): boolean {
  try {
    return decodeURIComponent(part) !== "";
  } catch {
    return false;
  }
}

/** Removes a trailing slash, as moleculer-web does. */
function pathOf(address: string | undefined): string {
  const path = address?.split("?", 1)[0] ?? "/";
  return path.endsWith("/") ? path.slice(0, -1) : path;
}

/** A path that is listed literally has only these methods, even if a parameter of another route would match its last part. */
export function isFixedWithout({ url, method = "" }: GatewayRequest): boolean {
  return fixed.get(pathOf(url))?.has(method) === false;
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
  // moleculer-web normalises the address it looks up, so "//api" would match "/api".
  const path = pathOf(request.originalUrl ?? request.url);
  const parts = path.split("/");
  const found = templates.filter(({ parts: template }) => matches(template, parts));
  const allow = fixed.get(path) ?? new Set(found.flatMap((each) => each.allow));
  if (allow.size === 0) return new ServiceError(404, "not_found", "Not found");
  return new MethodNotAllowed([...allow]);
}

/** An error before a route was found (a path that cannot be decoded) names no operation. */
export function routingError(request: GatewayRequest, error: unknown): unknown {
  if (request.endpoint !== undefined || error instanceof ServiceError) return error;
  const isRouting =
    error instanceof URIError || (error instanceof Error && /NotFoundError|BadRequestError/.test(error.name));
  return isRouting ? notRouted(request) : error;
}

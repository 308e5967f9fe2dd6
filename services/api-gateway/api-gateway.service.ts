// The REST interface: a table of routes to actions, and everything HTTP: limits, order of refusals, errors, request
// ids, access log, documentation. Knows nothing of what the actions do.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Context, Service, ServiceSchema } from "moleculer";
import ApiGateway from "moleculer-web";
import { runtimeOf } from "../shared/bus.ts";
import type { Caller } from "../shared/caller.ts";
import { ServiceError } from "../shared/errors.ts";
import type { Runtime } from "../shared/runtime.ts";
import { accessLog } from "./access-log.ts";
import { clientAddressOf } from "./client-address.ts";
import { corsFor } from "./cors.ts";
import { Endpoint } from "./endpoint.ts";
import { toErrorResponse } from "./error-response.ts";
import { closeServer, createHttpServer, listen } from "./http-server.ts";
import { prepareRequest } from "./prepare-request.ts";
import { requestIdOf } from "./request-id.ts";
import { type Route, routes } from "./routes.ts";
import { staticPages } from "./static-pages.ts";

/** What hangs on a request while it is answered. */
interface Request extends IncomingMessage {
  requestId: string;
  clientIp: string | null;
  endpoint?: Endpoint;
  caller?: Caller;
  errorCode?: string;
  $params: Record<string, unknown> & { params?: Record<string, unknown> };
  $alias?: { path: string; method: string };
}

interface Gateway extends Service {
  runtime: Runtime;
  server: Server;
  httpPort: number;
  express(): (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;
}

const endpoints = new Map(routes.map((route) => [`${route.method} ${route.path}`, new Endpoint(route)]));
const aliasOf = ({ method, path }: Route) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`;
const aliases = Object.fromEntries(routes.map((route) => [aliasOf(route), route.action]));
const endpointByAlias = new Map(
  routes.map((route) => [aliasOf(route), endpoints.get(`${route.method} ${route.path}`)]),
);
const patterns = [...new Set(routes.map(({ path }) => path))].map((path) => ({
  matches: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
  allow: routes.filter((route) => route.path === path).map(({ method }) => method),
}));

function notRouted(request: Request): ServiceError {
  const path = request.url?.split("?")[0] ?? "/";
  const allow = patterns.filter(({ matches }) => matches.test(path)).flatMap((pattern) => pattern.allow);
  if (allow.length === 0) return new ServiceError(404, "not_found", "Not found");
  return new MethodNotAllowed([...new Set(allow)]);
}

class MethodNotAllowed extends ServiceError {
  readonly allow: string;
  constructor(allow: readonly string[]) {
    super(405, "method_not_allowed", "Method not allowed");
    this.allow = allow.join(", ");
  }
}

/** A refusal is an audit entry too; it is written before it is told. */
async function recordRefusal(gateway: Gateway, request: Request, code: string): Promise<void> {
  const { caller, endpoint } = request;
  if (caller?.principal.kind !== "user" || endpoint === undefined) return;
  const named = Object.values(request.$params?.params ?? {})[0];
  const target = typeof named === "string" && /^\d{1,10}$/.test(named) ? { target_id: named } : {};
  await gateway.broker.call(
    "audit.record_refusal",
    { action: endpoint.contract.audits, code, ...target },
    { meta: { caller } },
  );
}

async function sendError(
  gateway: Gateway,
  request: Request,
  response: ServerResponse,
  error: unknown,
): Promise<void> {
  if (response.headersSent || response.destroyed) return;
  const { status, code, body, headers, noteworthy } = toErrorResponse(error);
  request.errorCode = code;
  const { log } = gateway.runtime;
  if (noteworthy) log.error({ requestId: request.requestId, err: error }, "request failed");
  if (status === 403) {
    await recordRefusal(gateway, request, code).catch((failure: unknown) =>
      log.error({ requestId: request.requestId, err: failure }, "refusal not recorded"),
    );
  }
  if (error instanceof MethodNotAllowed) response.setHeader("Allow", error.allow);
  // What is left of a body that was not read whole would be taken for the next request.
  if (!request.complete) response.setHeader("Connection", "close");
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader("Cache-Control", "no-store");
  sendJson(response, status, body);
}

function sendJson(response: ServerResponse, status: number, body: string): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", Buffer.byteLength(body));
  response.end(body);
}

const gateway: ServiceSchema<Record<string, unknown>, Record<string, unknown>, object, Gateway> = {
  name: "api-gateway",
  mixins: [ApiGateway],
  settings: {
    server: false,
    // Ours was checked; moleculer-web would take whatever the client sent.
    rootCallOptions(options: { requestID?: string }, request: Request) {
      options.requestID = request.requestId;
    },
    routes: [
      {
        path: "/",
        aliases,
        mappingPolicy: "restrict",
        // One place never overrides another: Endpoint.gather takes each parameter from where it is declared.
        mergeParams: false,
        bodyParsers: false,
        logging: false,
        async onBeforeCall(this: Gateway, ctx: Context, _route: unknown, request: Request) {
          const { $alias: alias } = request;
          const endpoint = endpointByAlias.get(`${alias?.method} /${alias?.path.replace(/^\//, "")}`);
          if (endpoint === undefined) throw new ServiceError(404, "not_found", "Not found");
          request.endpoint = endpoint;
          const prepared = await prepareRequest(ctx, endpoint, request, request.$params.params ?? {}, {
            requestId: request.requestId,
            ip: request.clientIp,
            onCaller: (caller) => {
              request.caller = caller;
            },
          });
          request.$params = prepared.params;
          Object.assign(ctx.meta, { caller: prepared.caller });
        },
      },
    ],
    onError(this: Gateway, request: Request, response: ServerResponse, error: Error) {
      void sendError(this, request, response, routingError(request, error));
    },
  },
  // The gateway's own helper actions would show the routes to the bus.
  actions: { listAliases: false, addRoute: false, removeRoute: false },
  methods: {
    sendResponse(this: Gateway, request: Request, response: ServerResponse, data: unknown) {
      const { endpoint } = request;
      const status = endpoint?.route.status ?? 200;
      if (endpoint?.contract.access.who !== "public") response.setHeader("Cache-Control", "no-store");
      if (status !== 204) return sendJson(response, status, JSON.stringify(data ?? null));
      response.statusCode = 204;
      response.end();
    },
    // Query strings are parsed by the endpoint, strictly; here only the path is needed.
    parseQueryString(request: Request) {
      return { query: {}, url: request.url?.split("?")[0] ?? "/" };
    },
  },
  created(this: Gateway) {
    const { config, log } = runtimeOf(this);
    const handle = this.express();
    const cors = corsFor(config.corsOrigins);
    const addressOf = clientAddressOf(config.trustedProxies);
    const logAccess = accessLog(log);
    const pages = staticPages(config);
    this.server = createHttpServer((incoming, response) => {
      const request = Object.assign(incoming, {
        requestId: requestIdOf(incoming),
        clientIp: addressOf(incoming),
        $params: {},
      }) as Request;
      response.setHeader("X-Request-Id", request.requestId);
      response.setHeader("X-Content-Type-Options", "nosniff");
      logAccess(request, response);
      if (cors(request, response) || pages(request, response)) return;
      handle(
        request,
        response,
        (error) => void sendError(this, request, response, error ?? notRouted(request)),
      );
    });
  },
  async started(this: Gateway) {
    const { config } = runtimeOf(this);
    this.httpPort = await listen(this.server, config.port, config.host);
  },
  async stopped(this: Gateway) {
    await closeServer(this.server);
  },
};

/** A path that cannot be decoded names nothing. */
function routingError(request: Request, error: unknown): unknown {
  if (request.endpoint !== undefined || error instanceof ServiceError) return error;
  const isRouting =
    error instanceof URIError || (error instanceof Error && /NotFoundError|BadRequestError/.test(error.name));
  return isRouting ? notRouted(request) : error;
}

export default gateway;

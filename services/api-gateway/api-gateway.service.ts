// The REST interface: a table of routes to actions, and everything about HTTP: limits, order of refusals, errors, request
// ids, access log, documentation. It does not know what the actions do.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Context, Service, ServiceSchema } from "moleculer";
import ApiGateway from "moleculer-web";
import { detectors } from "../../mixins/healing/detectors.ts";
import type { Download } from "../shared/archive/download.ts";
import { runtimeOf } from "../shared/bus/bus.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { runInContext } from "../shared/tracing.ts";
import { accessLog } from "./access-log.ts";
import { AnswerBudget } from "./answer-budget.ts";
import { addressKey } from "../shared/rate-limits.ts";
import { clientAddressOf, proxiesIn } from "./client-address.ts";
import type { Connections } from "./connections.ts";
import { corsFor } from "./cors.ts";
import type { GatewayRequest } from "./gateway-request.ts";
import { drainMs } from "../shared/drain.ts";
import { assertMayListen, closeServer, createHttpServer, listen } from "./http-server.ts";
import { Load } from "./load.ts";
import { prepareRequest } from "./prepare-request.ts";
import { toOriginForm } from "./request-form.ts";
import { requestIdOf } from "./request-id.ts";
import { RequestRates } from "./request-rates.ts";
import { aliases, endpointOf, isFixedWithout, notRouted, routingError } from "./routing.ts";
import { beginContext } from "./request-context.ts";
import { sendDownload } from "./send-download.ts";
import { sendError, sendResult } from "./send-response.ts";
import { awaitServices } from "./services-seen.ts";
import { staticPages } from "./static-pages.ts";
import { warnOfProxy } from "./warn-of-proxy.ts";

/** Answers that their clients have not read yet. */
const answersBytesMax = 67_108_864;

type Handle = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;

interface Gateway extends Service {
  runtime: Runtime;
  server: Server;
  connections: Connections;
  load: Load;
  answers: AnswerBudget;
  rates: RequestRates;
  /** The port in use: PORT, or a free one when PORT is 0. */
  httpPort: number;
  closing: Promise<void> | undefined; // Begun once.
  /** Accepts no more connections; resolves when all requests in progress are answered. */
  close(): Promise<void>;
  express(): Handle; // moleculer-web's.
}

/** A method of moleculer-web: finds the action, runs onBeforeCall, calls it and answers. Its type declarations lack the methods. */
const workOn = ApiGateway.methods?.["aliasHandler"] as (
  request: GatewayRequest,
  response: ServerResponse,
  alias: unknown,
) => Promise<unknown>;

function answerError(
  gateway: Gateway,
  request: GatewayRequest,
  response: ServerResponse,
  error: unknown,
): void {
  const record = (entry: object, caller: unknown) =>
    gateway.broker.call("audit.record_refusal", entry, { meta: { caller } });
  void sendError(gateway.runtime, gateway.answers, record, request, response, error);
}

function requestListener(gateway: Gateway): (incoming: IncomingMessage, response: ServerResponse) => void {
  const { config } = gateway.runtime;
  const handle = gateway.express();
  const cors = corsFor(config.corsOrigins);
  const addressOf = clientAddressOf(proxiesIn(config.trustedProxies), warnOfProxy(gateway.runtime));
  const logAccess = accessLog(gateway.runtime);
  const pages = staticPages(config);
  return (incoming, response) => {
    const requestId = requestIdOf(incoming);
    const request: GatewayRequest = Object.assign(incoming, {
      requestId,
      context: beginContext(gateway.runtime.tracing.tracer, requestId, incoming),
      clientIp: addressOf(incoming),
      $params: {},
    });
    runInContext(request.context, () => answer(request, response));
  };
  function answer(request: GatewayRequest, response: ServerResponse): void {
    toOriginForm(request);
    response.setHeader("X-Request-Id", request.requestId);
    response.setHeader("X-Content-Type-Options", "nosniff");
    logAccess(request, response);
    if (cors(request, response) || pages(request, response)) return;
    // For a preflight request moleculer-web would run the action of the method that the preflight asks about.
    if (request.method === "OPTIONS" || isFixedWithout(request))
      return answerError(gateway, request, response, notRouted(request));
    handle(request, response, (error) =>
      answerError(gateway, request, response, error ?? notRouted(request)),
    );
  }
}

/** What clients occupy in this process. Their number is bounded, and everything else is bounded in bytes. */
function watch({ runtime: { metrics }, connections, load, answers }: Gateway): void {
  metrics?.watch("records_http_connections", "Connections that are open", () => connections.size);
  metrics?.watch("records_http_requests_held", "Requests that are worked on", () => load.requests);
  metrics?.watch("records_http_body_bytes", "Bytes held for bodies of requests", () => load.bodyBytes);
  metrics?.watch("records_http_answer_bytes", "Bytes of answers not yet taken", () => answers.bytes);
}

const gateway: ServiceSchema<Record<string, unknown>, Record<string, unknown>, object, Gateway> = {
  name: "api-gateway",
  // This service detects no faults, but like every node it reports its state.
  mixins: [ApiGateway, detectors("api-gateway", {})],
  settings: {
    server: false,
    // Our request id was checked; moleculer-web would accept any value that the client sent.
    rootCallOptions(options: { requestID?: string }, request: GatewayRequest) {
      options.requestID = request.requestId;
    },
    routes: [
      {
        path: "/",
        aliases,
        mappingPolicy: "restrict",
        // A proxy's path rules know one spelling of each path.
        pathToRegexpOptions: { sensitive: true },
        // A parameter is taken only from its declared source: see Endpoint.gather.
        mergeParams: false,
        bodyParsers: false,
        logging: false,
        async onBeforeCall(
          this: Gateway,
          ctx: Context,
          _route: unknown,
          request: GatewayRequest,
          response: ServerResponse,
        ) {
          request.endpoint = endpointOf(request);
          request.pathParams = request.$params.params ?? {};
          const { caller, params } = await prepareRequest(
            ctx,
            request.endpoint,
            request,
            response,
            this.rates,
          );
          request.$params = params;
          Object.assign(ctx.meta, { caller });
        },
      },
    ],
  },
  // The gateway's own helper actions would publish the routes on the bus.
  actions: {
    listAliases: false,
    addRoute: false,
    removeRoute: false,
    // The body of a request can be read only once.
    rest: { retryPolicy: { enabled: false } },
  },
  methods: {
    close(this: Gateway) {
      return (this.closing ??= closeServer(this.server, drainMs(this.runtime.config)));
    },
    sendResponse(this: Gateway, request: GatewayRequest, response: ServerResponse, result: unknown) {
      if (request.endpoint?.contract.download !== true)
        return sendResult(this.answers, request, response, result);
      // The contract declares the shape of the result.
      sendDownload(this.runtime, request.requestId, response, result as Download).catch((error: unknown) =>
        answerError(this, request, response, error),
      );
    },
    /** All work on a request with a route, from checking its token to its answer. */
    async aliasHandler(this: Gateway, request: GatewayRequest, response: ServerResponse, alias: unknown) {
      request.held = this.load.enter(addressKey(request.clientIp));
      try {
        return await workOn.call(this, request, response, alias);
      } finally {
        // Also when the client disconnected long before.
        request.held.release();
      }
    },
    // moleculer-web would log the error with its message first; our log decides which parts are logged.
    errorHandler(this: Gateway, request: GatewayRequest, response: ServerResponse, error: unknown) {
      answerError(this, request, response, routingError(request, error));
    },
    // The endpoint parses the query string strictly; here only the path is needed.
    parseQueryString(request: GatewayRequest) {
      return { query: {}, url: request.url?.split("?")[0] ?? "/" };
    },
  },
  created(this: Gateway) {
    const { config, phases } = runtimeOf(this);
    this.rates = new RequestRates(config);
    this.load = new Load(config.bodiesBytesMax);
    this.answers = new AnswerBudget(answersBytesMax);
    const { server, connections } = createHttpServer(requestListener(this), {
      perAddressMax: config.connectionsPerAddressMax,
      isProxy: proxiesIn(config.trustedProxies),
    });
    Object.assign(this, { server, connections });
    watch(this);
    const { port, host } = config;
    phases.beforeOpening(() => assertMayListen(port, host));
    phases.onceReady(async () => {
      this.httpPort = await listen(server, port, host);
    });
    phases.onceStopping(() => void this.close());
    awaitServices(this.broker, runtimeOf(this));
  },
  async stopped(this: Gateway) {
    await this.close();
  },
};

export default gateway;

// The HTTP server with its bounds. moleculer-web's own would keep half-sent requests open for minutes.
import { createServer, type RequestListener, type Server } from "node:http";
import type { Socket } from "node:net";
import { answerBrokenRequests, headersMax, refusedForHeaders } from "./broken-request.ts";
import { type ConnectionBounds, Connections } from "./connections.ts";
import { bufferedBytes, closeUnlessRead, holdBody } from "./read-body.ts";
import { errorCode, StartError } from "../shared/start-error.ts";

/** Deadlines start at the first byte of a request (for the first request, when the connection opens), however slowly it arrives. */
const deadlines = {
  headersTimeout: 8_000,
  /** Headers and body together. */
  requestTimeout: 12_000,
  /** Interval of the check of both deadlines. */
  connectionsCheckingInterval: 1_000,
};
const limits = {
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
  /** While nobody reads a body, no more of it is read from the system than the bytes that came with the headers. */
  highWaterMark: bufferedBytes,
  /** Checked below, with a readable answer. */
  requireHostHeader: false,
};
const connectionsMax = 10_000;
const stalledEveryMs = 5_000;
const idleEveryMs = 50;

export interface HttpServer {
  server: Server;
  connections: Connections;
}

export function createHttpServer(
  listener: RequestListener,
  bounds: Omit<ConnectionBounds, "connectionsMax">,
  times = deadlines,
): HttpServer {
  const connections = new Connections({ ...bounds, connectionsMax }, (request, response) => {
    closeUnlessRead(request, response);
    if (!refusedForHeaders(request, response)) listener(request, response);
  });
  const take: RequestListener = (request, response) => connections.take(request, response);
  const server = createServer({ ...limits, ...times }, take);
  // An unknown expectation may be ignored; Node would answer 417 with an empty body.
  server.on("checkExpectation", take);
  // Node would send "100 Continue" at once.
  server.on("checkContinue", (request, response) => {
    holdBody(request);
    take(request, response);
  });
  answerBrokenRequests(server);
  admitFirst(server, connections);
  server.maxConnections = connectionsMax;
  // Node drops further headers silently; refusedForHeaders answers.
  server.maxHeadersCount = headersMax + 1;
  const watch = setInterval(() => connections.endStalled(), stalledEveryMs).unref();
  server.once("close", () => clearInterval(watch));
  return { server, connections };
}

/** A connection beyond the bounds is closed before it gets a parser, which costs more than the refusal. */
function admitFirst(server: Server, connections: Connections): void {
  const toHttp = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    if (connections.admit(socket)) for (const listener of toHttp) listener.call(server, socket);
  });
}

export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => reject(listenError(error, port, host)));
    server.listen(port, host, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

/** Checked before anything is prepared for a start that would fail. @throws StartError */
export async function assertMayListen(port: number, host: string): Promise<void> {
  const trial = createServer();
  await listen(trial, port, host);
  await new Promise((resolve) => trial.close(resolve));
}

function listenError(error: Error, port: number, host: string): Error {
  const code = errorCode(error);
  if (code === "EADDRINUSE")
    return new StartError(`Port ${port} on ${host} is in use by another program: set PORT to a free one.`);
  if (code === "EACCES")
    return new StartError(`Port ${port} may not be used by this account: set PORT above 1023.`);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return new StartError(`HOST ${host} is no address of this machine.`);
  return error;
}

/** Accepts no more connections, lets requests in progress finish, then closes the remaining connections. */
export function closeServer(server: Server, drainMsMax: number): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), drainMsMax);
    // Otherwise a busy client would use its connection until it is cut off.
    server.prependListener("request", (_request, response) => response.setHeader("Connection", "close"));
    // Connections that were busy until now.
    const idle = setInterval(() => server.closeIdleConnections(), idleEveryMs);
    server.close(() => {
      clearTimeout(late);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}

// The HTTP server with its bounds. moleculer-web's own would keep half-sent requests open for minutes.
import { createServer, type RequestListener, type Server } from "node:http";
import { answerBrokenRequests, refusedForHost } from "./broken-request.ts";
import { errorCode, StartError } from "../shared/embedded/start-error.ts";

const limits = {
  /** Headers and body of a request together; both bounds are looked at every second. */
  headersTimeout: 8_000,
  requestTimeout: 12_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
  /** Seen to below, in our own words. */
  requireHostHeader: false,
};
const connectionsMax = 10_000;
const headersMax = 100;
const drainMsMax = 10_000;

export function createHttpServer(listener: RequestListener): Server {
  const take: RequestListener = (request, response) => {
    if (!refusedForHost(request, response)) listener(request, response);
  };
  const server = createServer(limits, take);
  // An expectation we do not know is one we need not meet; Node would answer 417 without a word.
  server.on("checkExpectation", take);
  answerBrokenRequests(server);
  server.maxConnections = connectionsMax;
  server.maxHeadersCount = headersMax;
  return server;
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

/** Takes no new connection, lets requests under way finish, then closes what is left. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), drainMsMax);
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
  });
}

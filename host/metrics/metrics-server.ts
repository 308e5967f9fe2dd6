// The HTTP server for /metrics. It serves nothing else. Concurrent requests share one read of the metrics.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { errorCode, StartError } from "../../services/shared/start-error.ts";
import { openMetrics, plainText, toPlainText, wantsOpenMetrics } from "./exposition.ts";

const connectionsMax = 100;

/** At most 100 connections; requests time out after 5 s. */
export class MetricsServer {
  readonly #read: () => Promise<string>;
  #server: Server | undefined;
  #reading: Promise<string> | undefined;

  /** @param read returns the metrics as OpenMetrics */
  constructor(read: () => Promise<string>) {
    this.#read = read;
  }

  /** @throws StartError when the port cannot be used */
  async listen(port: number, host: string): Promise<void> {
    const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    server.maxConnections = connectionsMax;
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(new StartError(`METRICS_PORT ${port} on ${host} cannot be used (${errorCode(error)}).`)),
      );
      server.listen(port, host, resolve);
    });
  }

  close(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  async #answer({ method, url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (url?.split("?")[0] !== "/metrics") return void response.writeHead(404).end();
    if (method !== "GET" && method !== "HEAD")
      return void response.writeHead(405, { Allow: "GET, HEAD" }).end();
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    const text = await this.#reading;
    const isOpen = wantsOpenMetrics(headers.accept);
    response.writeHead(200, {
      "Content-Type": isOpen ? openMetrics : plainText,
      Vary: "Accept",
      "X-Content-Type-Options": "nosniff",
    });
    response.end(method === "HEAD" ? undefined : isOpen ? text : toPlainText(text));
  }
}

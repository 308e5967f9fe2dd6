// /metrics on METRICS_PORT, in Prometheus' text format: requests by route, actions by name, the password queue, the
// database pool, and Node's own figures. Labels are routes, actions and statuses, never tenants, users or addresses.
import { createServer, type Server } from "node:http";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Dropped } from "./bus-seal.ts";
import { errorCode, StartError } from "./embedded/start-error.ts";

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What is looked at when the figures are asked for. */
export interface Measured {
  readonly hasher: { readonly depth: number };
  readonly droppedMessages: Readonly<Dropped>;
  readonly pool:
    | { readonly idleCount: number; readonly totalCount: number; readonly waitingCount: number }
    | undefined;
}

export class ProcessMetrics {
  readonly #registry = new Registry();
  readonly #requests: Histogram<"method" | "route" | "status">;
  readonly #actions: Histogram<"action" | "outcome">;
  readonly #leftOut: Counter<"limit">;
  #server: Server | undefined;

  constructor(runtime: Measured) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Histogram({
      name: "records_http_request_seconds",
      help: "HTTP requests by method, route template and status",
      labelNames: ["method", "route", "status"],
      buckets: secondsBuckets,
      registers,
    });
    this.#actions = new Histogram({
      name: "records_action_seconds",
      help: "Calls of this process's actions by name and outcome (ok, or the error's code)",
      labelNames: ["action", "outcome"],
      buckets: secondsBuckets,
      registers,
    });
    this.#leftOut = new Counter({
      name: "records_daily_limit_left_out_total",
      help: "What was refused or left out beyond a tenant's limit of the day, by limit",
      labelNames: ["limit"],
      registers,
    });
    for (const metric of [...processGauges(runtime), droppedCounter(runtime)])
      this.#registry.registerMetric(metric);
  }

  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds);
  }

  action(action: string, outcome: string, seconds: number): void {
    this.#actions.observe({ action, outcome }, seconds);
  }

  /** @param limit of a closed set */
  leftOut(limit: string, times: number): void {
    this.#leftOut.inc({ limit }, times);
  }

  /** A figure of a service's own. @param read asked when the figures are; undefined, or a failure, shows none */
  watch(name: string, help: string, read: () => number | Promise<number | undefined>): void {
    const gauge = new Gauge({
      name,
      help,
      registers: [],
      async collect() {
        const value = await Promise.resolve(read()).catch(() => undefined);
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
    this.#registry.registerMetric(gauge);
  }

  /** @throws StartError when the port cannot be used */
  async listen(port: number, host: string): Promise<void> {
    const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
      const found = request.url?.split("?")[0] === "/metrics";
      response.writeHead(found ? 200 : 404, { "Content-Type": this.#registry.contentType });
      if (!found) response.end();
      else void this.#registry.metrics().then((text) => response.end(text));
    });
    server.maxConnections = 100;
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
}

function droppedCounter({ droppedMessages }: Measured): Counter<"reason"> {
  return new Counter({
    name: "records_bus_dropped_total",
    help: "Messages on the bus that were not believed: foreign, stale, repeated, or of another start of a node",
    labelNames: ["reason"],
    registers: [],
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(droppedMessages)) this.inc({ reason }, count);
    },
  });
}

/** Read when they are asked for. */
function processGauges(runtime: Measured): Gauge[] {
  const queue = new Gauge({
    name: "records_password_queue_depth",
    help: "Password checks that wait or run",
    registers: [],
    collect() {
      this.set(runtime.hasher.depth);
    },
  });
  const connections = new Gauge({
    name: "records_database_connections",
    help: "Connections of the pool by state; waiting counts those who wait for one",
    labelNames: ["state"],
    registers: [],
    collect() {
      const { pool } = runtime;
      this.set({ state: "idle" }, pool?.idleCount ?? 0);
      this.set({ state: "busy" }, (pool?.totalCount ?? 0) - (pool?.idleCount ?? 0));
      this.set({ state: "waiting" }, pool?.waitingCount ?? 0);
    },
  });
  return [queue, connections];
}

// The metrics of a process on METRICS_PORT: requests by route, actions by name, the bus, the pool, Node's own metrics, and those
// that its services add. Labels are routes, actions, tasks and states: names in this program, never tenants, users or addresses.
// The number of label sets of each metric is bounded (docs/operate.md lists all metrics).
import { collectDefaultMetrics, Counter, Gauge, type OpenMetricsContentType, Registry } from "prom-client";
import { dailyLimits } from "../../services/shared/limits/daily-limit.ts";
import { memberLimit } from "../../services/shared/limits/refusal-entries.ts";
import { busMetrics } from "./bus-metrics.ts";
import { currentTrace } from "./current-trace.ts";
import { Durations } from "./durations.ts";
import { MetricsServer } from "./metrics-server.ts";
import { type Measured, processGauges } from "./process-gauges.ts";
import { readCounter, readGauge } from "./read-at-scrape.ts";
import { type MetricSample, CachedSamples } from "../../services/shared/cached-samples.ts";

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const callBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10];
const deliveryBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const jobBuckets = [0.01, 0.1, 1, 10, 60, 600, 3_600];
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

export interface GaugeDescription {
  readonly help: string;
  readonly labels?: readonly string[];
}

/** The metrics registry of a process and its HTTP server. */
export class ProcessMetrics {
  readonly #registry = openMetricsRegistry();
  readonly #server = new MetricsServer(() => this.#registry.metrics());
  readonly #requests = new Durations(this.#registry, {
    name: "records_http_request_seconds",
    help: "HTTP requests by method, route template and status",
    labels: ["route", "status"],
    buckets: secondsBuckets,
    by: { label: "method", values: methods },
  });
  readonly #actions = new Durations(this.#registry, {
    name: "records_action_seconds",
    help: "Calls of this process's actions by name and outcome (ok, or the error's code)",
    labels: ["action", "outcome"],
    buckets: secondsBuckets,
  });
  readonly #calls = new Durations(this.#registry, {
    name: "records_bus_call_seconds",
    help: "Calls that this process made over the bus, until the answer was here, by action and outcome (ok, failed)",
    labels: ["action", "outcome"],
    buckets: callBuckets,
  });
  readonly #jobs = new Durations(this.#registry, {
    name: "records_job_seconds",
    help: "Durable jobs that this process ran, by task and outcome (ok, failed)",
    labels: ["task", "outcome"],
    buckets: jobBuckets,
  });
  readonly #deliveries = new Durations(this.#registry, {
    name: "records_delivery_seconds",
    help: "Deliveries that this process tried to make, by channel and outcome of the try",
    labels: ["channel", "outcome"],
    buckets: deliveryBuckets,
  });
  readonly #leftOut: Counter<"limit">;
  readonly #unread: Counter<"source">;

  constructor(runtime: Measured) {
    collectDefaultMetrics({ register: this.#registry });
    const counter = <L extends string>(name: string, help: string, label: L) =>
      new Counter({ name, help, labelNames: [label], registers: [this.#registry] });
    this.#leftOut = counter(
      "records_daily_limit_left_out_total",
      "What was refused or left out beyond a tenant's limit of the day, by limit",
      "limit",
    );
    this.#unread = counter(
      "records_metrics_unread_total",
      "Readings of figures that failed or took longer than two seconds, by who reads them",
      "source",
    );
    for (const limit of [...Object.keys(dailyLimits), memberLimit]) this.#leftOut.inc({ limit }, 0);
    for (const metric of [...processGauges(runtime), ...busMetrics(runtime)])
      this.#registry.registerMetric(metric);
  }

  /** @param trace of the request, if the caller knows it better than the current context */
  request(method: string, route: string, status: number, seconds: number, trace = currentTrace()): void {
    this.#requests.observe(route, String(status), seconds, trace, method);
  }

  action(action: string, outcome: string, seconds: number): void {
    this.#actions.observe(action, outcome, seconds, currentTrace());
  }

  /** A call over the bus, measured by its caller. */
  call(action: string, outcome: "ok" | "failed", seconds: number): void {
    this.#calls.observe(action, outcome, seconds, currentTrace());
  }

  job(task: string, outcome: "ok" | "failed", seconds: number): void {
    this.#jobs.observe(task, outcome, seconds, currentTrace());
  }

  /** One attempt of a delivery. */
  delivery(channel: string, outcome: string, seconds: number): void {
    this.#deliveries.observe(channel, outcome, seconds, currentTrace());
  }

  /** @param limit one of a fixed set */
  leftOut(limit: string, times: number): void {
    this.#leftOut.inc({ limit }, times);
  }

  /**
   * Adds a counter of a service. It starts with 0 for each value of its label.
   * @param values all values of the label; any other counts as "other"
   */
  counter(
    name: `records_${string}_total`,
    help: string,
    label: string,
    values: readonly string[],
  ): (value: string, times?: number) => void {
    const made = new Counter<string>({ name, help, labelNames: [label], registers: [this.#registry] });
    const labelsOf = new Map(values.map((value) => [value, { [label]: value }]));
    for (const labels of labelsOf.values()) made.inc(labels, 0);
    return (value, times = 1) => made.inc(labelsOf.get(value) ?? { [label]: "other" }, times);
  }

  /** Adds a gauge whose value is at hand. @param read called at each scrape; undefined or an exception shows no value */
  watch(name: `records_${string}`, help: string, read: () => number | undefined): void {
    this.#registry.registerMetric(readGauge(name, help, read));
  }

  /** The same for a value that only grows. */
  watchTotal(name: `records_${string}_total`, help: string, read: () => number): void {
    this.#registry.registerMetric(readCounter(name, help, read));
  }

  /**
   * Adds gauges that are queried from the database: with one query for all of them, at most every five seconds, with a timeout of
   * two seconds. Their values are those of the whole installation, so each process shows the same: `max()` combines them.
   * @param source names the query
   */
  sample<const G extends Readonly<Record<`records_${string}`, GaugeDescription>>>(
    source: string,
    gauges: G,
    read: () => Promise<readonly MetricSample<keyof G & string>[]>,
  ): void {
    this.#unread.inc({ source }, 0);
    const sampled = new CachedSamples(read, () => this.#unread.inc({ source }));
    for (const [name, { help, labels = [] }] of Object.entries(gauges)) {
      const gauge = new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [this.#registry],
        async collect() {
          const figures = await sampled.samples();
          this.reset();
          // Unknown values are removed: an old value would look like a current one.
          if (labels.length === 0) this.remove();
          for (const figure of figures ?? [])
            if (figure.name === name) this.set({ ...figure.labels }, figure.value);
        },
      });
      // Removed until the first read: a gauge without labels starts with 0.
      if (labels.length === 0) gauge.remove();
    }
  }

  /** @throws StartError when the port cannot be used */
  listen(port: number, host: string): Promise<void> {
    return this.#server.listen(port, host);
  }

  close(): void {
    this.#server.close();
  }
}

function openMetricsRegistry(): Registry<OpenMetricsContentType> {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}

// What this process can be asked on METRICS_PORT: requests by route, actions by name, the bus, the pool, Node's own figures,
// and what its services add. Labels are routes, actions, tasks, states: names from this program, never tenants, users or
// addresses, and of each metric at most so many (docs/operate.md lists all of them).
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

export interface GaugeOf {
  readonly help: string;
  readonly labels?: readonly string[];
}

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

  /** @param trace of the request, where the caller knows it better than the moment does */
  request(method: string, route: string, status: number, seconds: number, trace = currentTrace()): void {
    this.#requests.observe(route, String(status), seconds, trace, method);
  }

  action(action: string, outcome: string, seconds: number): void {
    this.#actions.observe(action, outcome, seconds, currentTrace());
  }

  /** A call over the bus, as who made it saw it. */
  call(action: string, outcome: "ok" | "failed", seconds: number): void {
    this.#calls.observe(action, outcome, seconds, currentTrace());
  }

  job(task: string, outcome: "ok" | "failed", seconds: number): void {
    this.#jobs.observe(task, outcome, seconds, currentTrace());
  }

  /** One try. */
  delivery(channel: string, outcome: string, seconds: number): void {
    this.#deliveries.observe(channel, outcome, seconds, currentTrace());
  }

  /** @param limit of a closed set */
  leftOut(limit: string, times: number): void {
    this.#leftOut.inc({ limit }, times);
  }

  /**
   * A service's own counter, which begins with 0 for each of its values.
   * @param values all that the label says; anything else counts as "other"
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

  /** A figure that is at hand. @param read asked when the figures are; undefined, or a failure, shows none */
  watch(name: `records_${string}`, help: string, read: () => number | undefined): void {
    this.#registry.registerMetric(readGauge(name, help, read));
  }

  /** The same for one that only grows. */
  watchTotal(name: `records_${string}_total`, help: string, read: () => number): void {
    this.#registry.registerMetric(readCounter(name, help, read));
  }

  /**
   * Figures that the database is asked for: by one reading for all of them, at most every five seconds, with two seconds to
   * answer. They are of the whole installation, and each process that shows them shows the same: `max()` makes one of them.
   * @param source names the reading
   */
  sample<const G extends Readonly<Record<`records_${string}`, GaugeOf>>>(
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
          // Nothing is shown of what is not known: an old figure would look like a new one.
          if (labels.length === 0) this.remove();
          for (const figure of figures ?? [])
            if (figure.name === name) this.set({ ...figure.labels }, figure.value);
        },
      });
      // Until the first reading: one without labels begins with 0.
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

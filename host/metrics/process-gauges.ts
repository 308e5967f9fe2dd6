// The gauges of a process: its database pool, its password queue, its version.
import { Gauge } from "prom-client";
import type { Dropped } from "../../services/shared/bus/bus-seal.ts";
import { version } from "../../services/shared/version.ts";
import type { BusTraffic } from "./bus-metrics.ts";
import { readGauge } from "./read-at-scrape.ts";

/** The objects from which the gauges are read. */
export interface Measured {
  readonly config: { readonly databasePoolMax: number };
  readonly hasher: { readonly depth: number };
  readonly busTraffic: Readonly<BusTraffic>;
  readonly droppedMessages: Readonly<Dropped>;
  readonly pool:
    | { readonly idleCount: number; readonly totalCount: number; readonly waitingCount: number }
    | undefined;
}

/** Gauges that are read at each scrape. */
export function processGauges(runtime: Measured): Gauge[] {
  const pool = (
    name: `records_${string}`,
    help: string,
    read: (of: NonNullable<Measured["pool"]>) => number,
  ) => readGauge(name, help, () => (runtime.pool === undefined ? undefined : read(runtime.pool)));
  const connections = new Gauge({
    name: "records_database_connections",
    help: "Connections of the pool by state; waiting counts those who wait for one",
    labelNames: ["state"],
    registers: [],
    collect() {
      const { pool: of } = runtime;
      this.set({ state: "idle" }, of?.idleCount ?? 0);
      this.set({ state: "busy" }, (of?.totalCount ?? 0) - (of?.idleCount ?? 0));
      this.set({ state: "waiting" }, of?.waitingCount ?? 0);
    },
  });
  return [
    connections,
    pool(
      "records_database_connections_max",
      "Most connections that the pool opens",
      () => runtime.config.databasePoolMax,
    ),
    readGauge("records_password_queue_depth", "Password checks that wait or run", () => runtime.hasher.depth),
    buildInfo(),
  ];
}

function buildInfo(): Gauge {
  const name = "records_build_info";
  const help = "1, with the version of the program";
  const info = new Gauge({ name, help, labelNames: ["version"], registers: [] });
  info.set({ version }, 1);
  return info;
}

// What is shown of processes.
import { rate, type Row } from "./panel.ts";

export const rowsOfProcesses: readonly Row[] = [
  {
    title: "Processes",
    panels: [
      {
        title: "Connections of the pools",
        says: "waiting: who wants one and has none.",
        unit: "short",
        drawnAs: "pool",
        queries: [
          { expr: "sum by (state) (records_database_connections)", legend: "{{state}}" },
          { expr: "sum(records_database_connections_max)", legend: "at most" },
        ],
      },
      {
        title: "Event loop",
        says: "How late timers run: everything in that process waits as long.",
        unit: "s",
        drawnAs: "event-loop",
        queries: [{ expr: "max by (instance) (nodejs_eventloop_lag_p99_seconds)", legend: "{{instance}}" }],
      },
      {
        title: "CPU",
        says: "1 is one core.",
        unit: "percentunit",
        queries: [
          { expr: `sum by (instance) (rate(process_cpu_seconds_total${rate}))`, legend: "{{instance}}" },
        ],
      },
      {
        title: "Memory",
        says: "Resident. A process of the manifests may take 512 MB.",
        unit: "bytes",
        queries: [{ expr: "max by (instance) (process_resident_memory_bytes)", legend: "{{instance}}" }],
      },
      {
        title: "Cache: hits",
        says: "Share of the values asked for that were there and still true.",
        unit: "percentunit",
        drawnAs: "cache",
        queries: [
          {
            expr: `(sum(rate(records_cache_hits_total${rate})) - sum(rate(records_cache_outdated_total${rate}))) / (sum(rate(records_cache_hits_total${rate})) + sum(rate(records_cache_misses_total${rate})))`,
            legend: "hits",
          },
        ],
      },
      {
        title: "Cache: memory",
        says: "Evictions begin when it is full.",
        unit: "bytes",
        queries: [
          { expr: "sum(records_cache_bytes)", legend: "held" },
          { expr: "sum(records_cache_bytes_max)", legend: "at most" },
        ],
      },
      {
        title: "Cache: evictions",
        says: "Values that went for want of room.",
        unit: "ops",
        queries: [{ expr: `sum(rate(records_cache_evictions_total${rate}))`, legend: "evictions" }],
      },
    ],
  },
];

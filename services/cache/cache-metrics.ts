// Metrics of this process's part of the cache, over all tenants.
import type { Runtime } from "../../host/process/runtime.ts";
import type { CacheStore } from "./cache-store.ts";

/** Registers the metrics. They read the store when they are collected. */
export function watchCache({ metrics, config }: Runtime, store: CacheStore): void {
  const total = (name: `records_cache_${string}_total`, help: string, read: () => number) =>
    metrics?.watchTotal(name, help, read);
  total("records_cache_hits_total", "Values that were there when asked for", () => store.totals.hits);
  total("records_cache_misses_total", "Values that were not there", () => store.totals.misses);
  total(
    "records_cache_outdated_total",
    "Hits that were of no use, as the database knew something newer",
    () => store.totals.outdated,
  );
  total("records_cache_evictions_total", "Values that went for want of room", () => store.totals.evictions);
  metrics?.watch("records_cache_entries", "Values that the cache holds", () => store.size.entries);
  metrics?.watch("records_cache_bytes", "Bytes that the cache holds", () => store.size.bytes);
  metrics?.watch("records_cache_bytes_max", "Most bytes that the cache holds", () => config.cacheBytesMax);
}

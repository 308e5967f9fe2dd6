// The store of this process.
import { perRuntime } from "../shared/per-runtime.ts";
import { CacheStore } from "./cache-store.ts";

/** The cache store of the runtime, created at first use. */
export const storeOf = perRuntime(
  ({ config }) =>
    new CacheStore({
      entriesMax: config.cacheEntriesMax,
      bytesMax: config.cacheBytesMax,
      ttlSeconds: config.cacheTtlSeconds,
    }),
);

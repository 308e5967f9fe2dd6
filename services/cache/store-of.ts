// The store of this process.
import { perRuntime } from "../shared/per-runtime.ts";
import { CacheStore } from "./cache-store.ts";

export const storeOf = perRuntime(
  ({ config }) =>
    new CacheStore({
      entriesMax: config.cacheEntriesMax,
      bytesMax: config.cacheBytesMax,
      ttlSeconds: config.cacheTtlSeconds,
    }),
);

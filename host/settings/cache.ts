/** Settings of the cache of patients. */
import { setting } from "./entry.ts";
import * as read from "./readers.ts";

export const cacheSettings = {
  cacheEntriesMax: setting(
    "CACHE_ENTRIES_MAX",
    read.wholeNumber(0, 10_000_000),
    "20000",
    "Most values one process keeps in the cache of patients; 0 switches it off",
  ),
  cacheBytesMax: setting(
    "CACHE_BYTES_MAX",
    read.wholeNumber(100_000, 100_000_000_000),
    "64000000",
    "Most bytes of sealed values one process keeps in the cache of patients",
  ),
  cacheTtlSeconds: setting(
    "CACHE_TTL_SECONDS",
    read.wholeNumber(1, 86_400),
    "3600",
    "How long a value may stay in the cache, give or take a tenth",
  ),
};

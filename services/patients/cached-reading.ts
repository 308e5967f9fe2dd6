// Patients and their records as the cache stores them: taken from the cache, or read from the database and
// stored there, with one read per key at a time. A value from here may be outdated; RecordedReads decides.
import type { Call } from "../shared/bus/bus.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { openingKeys, sealingKeys } from "../shared/sealing/ask-keys.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import { CacheClient, type CachedValue, type Part, type CacheKey } from "./cache-client.ts";

/** A value that was current when its stamp was read. */
export interface CachedContent<T> {
  stamp: string;
  /** Null when the content is too large to cache; then only that fact is cached. */
  content: T | null;
  /** Whether it came from the cache. */
  taken?: boolean;
}

/** The maximum that `cache.put` accepts. */
const sealedCharsMax = 400_000;

/**
 * Version of the cached format, part of what a value is sealed for. Increase it with every change of the
 * cached content, so that nodes of two versions do not read each other's values during an upgrade.
 */
const formatVersion = 1;
const nameOf = (part: Part) => `memory.${part}.${formatVersion}` as const;

const partsOf = perRuntime(({ config }) => ({
  cacheClient: new CacheClient(config),
  loading: new Map<string, Promise<CachedContent<unknown> | undefined>>(),
}));

/** Whether the cache is switched off by its setting. */
export function isCacheOff(call: Call<unknown>): boolean {
  return partsOf(call.runtime).cacheClient.isOff;
}

/**
 * Returns the value from the cache, or loads and stores it.
 * @param load reads it from the database; undefined when there is nothing that may be cached
 * @returns a value that was current at some time, or undefined
 */
export async function readThroughCache<T>(
  call: Call<unknown>,
  cacheKey: CacheKey,
  load: () => Promise<CachedContent<T> | undefined>,
): Promise<CachedContent<T> | undefined> {
  const { cacheClient, loading } = partsOf(call.runtime);
  const taken = await cacheClient.take(call, cacheKey);
  const opened = taken && (await openCached<T>(call, cacheKey, taken));
  if (opened !== undefined) return opened;
  if (taken !== undefined) cacheClient.drop(call, cacheKey, taken.stamp, true);
  const key = `${cacheKey.tenantId}|${cacheKey.patientId}|${cacheKey.part}`;
  // All callers load the same part under this key, so the type is the same.
  const running = loading.get(key) as Promise<CachedContent<T> | undefined> | undefined;
  if (running !== undefined) return running;
  const started = loadAndPut(call, cacheKey, load).finally(() => loading.delete(key));
  loading.set(key, started);
  return started;
}

/** Removes a value that has proved outdated. */
export function dropOutdated(
  call: Call<unknown>,
  cacheKey: CacheKey,
  { stamp, taken = false }: CachedContent<unknown>,
): void {
  partsOf(call.runtime).cacheClient.drop(call, cacheKey, stamp, taken);
}

/** Seals a value for the cache. @returns undefined when it is too large */
export async function sealContent(
  call: Call<unknown>,
  { tenantId, patientId, part }: CacheKey,
  { stamp, content }: CachedContent<unknown>,
): Promise<CachedValue | undefined> {
  const text = JSON.stringify(content);
  if (text.length > sealedCharsMax) return undefined;
  const keys = await sealingKeys(call, tenantId);
  const sealed = keys.sealInMemory(nameOf(part), patientId, text).toString("base64");
  return sealed.length > sealedCharsMax ? undefined : { stamp, sealed };
}

async function loadAndPut<T>(
  call: Call<unknown>,
  cacheKey: CacheKey,
  load: () => Promise<CachedContent<T> | undefined>,
): Promise<CachedContent<T> | undefined> {
  const loaded = await load();
  if (loaded === undefined) return undefined;
  const value =
    (await sealContent(call, cacheKey, loaded)) ??
    (await sealContent(call, cacheKey, { ...loaded, content: null }));
  if (value !== undefined) partsOf(call.runtime).cacheClient.put(call, cacheKey, value);
  return loaded;
}

/**
 * Opens a cached value.
 * @returns undefined when its key was destroyed or it does not open, as if it were not cached
 */
export async function openCached<T>(
  call: Call<unknown>,
  { tenantId, patientId, part }: CacheKey,
  { stamp, sealed }: CachedValue,
): Promise<CachedContent<T> | undefined> {
  const bytes = Buffer.from(sealed, "base64");
  const keys = await openingKeys(call, tenantId, [bytes]);
  try {
    // Sealed by this service for exactly this part.
    const content = JSON.parse(keys.openInMemory(nameOf(part), patientId, bytes)) as T | null;
    return { stamp, content, taken: true };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    return undefined;
  }
}

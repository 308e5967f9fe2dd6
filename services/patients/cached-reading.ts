// Patients and their records as the cache keeps them: taken from it, or read and put there, one reading per key at a time.
// What comes from here may be outdated; RecordedReads decides.
import type { Call } from "../shared/bus/bus.ts";
import { perRuntime } from "../shared/per-runtime.ts";
import { openingKeys, sealingKeys } from "../shared/sealing/ask-keys.ts";
import { SealBroken } from "../shared/sealing/seal-broken.ts";
import { CacheClient, type CachedValue, type Part, type Place } from "./cache-client.ts";

export interface Remembered<T> {
  stamp: string;
  /** null: what is there is too much to be remembered; that is remembered instead. */
  content: T | null;
  /** From the cache. */
  taken?: boolean;
}

/** As `cache.put` takes it at most. */
const sealedCharsMax = 400_000;

/**
 * What a value is sealed for. To be raised with every change of what is remembered: nodes of two versions, side by side
 * during an upgrade, then do not take each other's values for their own.
 */
const shape = 1;
const nameOf = (part: Part) => `memory.${part}.${shape}` as const;

const partsOf = perRuntime(({ config }) => ({
  door: new CacheClient(config),
  loading: new Map<string, Promise<Remembered<unknown> | undefined>>(),
}));

export function isCacheOff(call: Call<unknown>): boolean {
  return partsOf(call.runtime).door.isOff;
}

/**
 * @param load reads it from the database; undefined when there is none that may be remembered
 * @returns what was so at some time, or undefined
 */
export async function remember<T>(
  call: Call<unknown>,
  place: Place,
  load: () => Promise<Remembered<T> | undefined>,
): Promise<Remembered<T> | undefined> {
  const { door, loading } = partsOf(call.runtime);
  const taken = await door.take(call, place);
  const opened = taken && (await openRemembered<T>(call, place, taken));
  if (opened !== undefined) return opened;
  if (taken !== undefined) door.drop(call, place, taken.stamp, true);
  const key = `${place.tenantId}|${place.patientId}|${place.part}`;
  // Whoever put it there loads the same part, so it is of the same type.
  const underWay = loading.get(key) as Promise<Remembered<T> | undefined> | undefined;
  if (underWay !== undefined) return underWay;
  const started = loadAndPut(call, place, load).finally(() => loading.delete(key));
  loading.set(key, started);
  return started;
}

/** For a value that has proved outdated. */
export function forget(
  call: Call<unknown>,
  place: Place,
  { stamp, taken = false }: Remembered<unknown>,
): void {
  partsOf(call.runtime).door.drop(call, place, stamp, taken);
}

/** @returns undefined when it is too much to be remembered */
export async function sealForMemory(
  call: Call<unknown>,
  { tenantId, patientId, part }: Place,
  { stamp, content }: Remembered<unknown>,
): Promise<CachedValue | undefined> {
  const text = JSON.stringify(content);
  if (text.length > sealedCharsMax) return undefined;
  const keys = await sealingKeys(call, tenantId);
  const sealed = keys.sealInMemory(nameOf(part), patientId, text).toString("base64");
  return sealed.length > sealedCharsMax ? undefined : { stamp, sealed };
}

async function loadAndPut<T>(
  call: Call<unknown>,
  place: Place,
  load: () => Promise<Remembered<T> | undefined>,
): Promise<Remembered<T> | undefined> {
  const loaded = await load();
  if (loaded === undefined) return undefined;
  const value =
    (await sealForMemory(call, place, loaded)) ??
    (await sealForMemory(call, place, { ...loaded, content: null }));
  if (value !== undefined) partsOf(call.runtime).door.put(call, place, value);
  return loaded;
}

/** @returns undefined when the key is gone since, or the bytes are not what they should be: as good as not there */
export async function openRemembered<T>(
  call: Call<unknown>,
  { tenantId, patientId, part }: Place,
  { stamp, sealed }: CachedValue,
): Promise<Remembered<T> | undefined> {
  const bytes = Buffer.from(sealed, "base64");
  const keys = await openingKeys(call, tenantId, [bytes]);
  try {
    // Sealed by this service for this very part.
    const content = JSON.parse(keys.openInMemory(nameOf(part), patientId, bytes)) as T | null;
    return { stamp, content, taken: true };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    return undefined;
  }
}

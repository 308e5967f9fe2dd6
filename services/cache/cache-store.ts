// Sealed values in the memory of this process, bounded in number and bytes; the least recently used is evicted first.
// It does not know whether a value is current: the reader checks that (services/patients/recorded-read.ts).
import { LRUCache } from "lru-cache";

export type Part = "patient" | "records";

export interface CachedValue {
  /** The patient's stamp at the time of reading. */
  stamp: string;
  /** In base64. */
  sealed: string;
}

export interface StoreOptions {
  entriesMax: number;
  bytesMax: number;
  ttlSeconds: number;
  /** The current time in ms. Set by tests. */
  now?: () => number;
}

export interface Stats {
  entries: number;
  expired: number;
  bytes: number;
  hits: number;
  misses: number;
  evictions: number;
}

export interface CacheKey {
  tenantId: number;
  patientId: number;
  part: Part;
}

/** Totals over all tenants since the process started. They only grow. */
export interface Totals {
  readonly hits: number;
  readonly misses: number;
  /** Hits whose value was outdated. */
  readonly outdated: number;
  readonly evictions: number;
}

interface Entry extends CachedValue {
  tenantId: number;
  patientId: number;
  bytes: number;
}

/** Estimated memory of an entry in addition to its text: key, stamp and bookkeeping. */
const entryBytes = 250;
const countersMax = 100_000;

/** The store; `entriesMax` 0 switches it off. Its operations are synchronous and never throw. */
export class CacheStore {
  readonly #entries: LRUCache<string, Entry> | undefined;
  readonly #ttlMs: number;
  readonly #totals = { hits: 0, misses: 0, outdated: 0, evictions: 0 };
  /**
   * Hits, misses and evictions by tenant. When there are too many tenants, the counters used longest ago are dropped.
   */
  readonly #counters = new LRUCache<number, { hits: number; misses: number; evictions: number }>({
    max: countersMax,
  });

  constructor({ entriesMax, bytesMax, ttlSeconds, now }: StoreOptions) {
    this.#ttlMs = ttlSeconds * 1000;
    if (entriesMax === 0) return;
    this.#entries = new LRUCache({
      max: entriesMax,
      maxSize: bytesMax,
      sizeCalculation: ({ bytes }) => bytes,
      // Expired entries stay until they are counted and cleaned up; `take` never returns one.
      allowStale: true,
      noDeleteOnStaleGet: true,
      ...(now === undefined ? { ttlResolution: 1_000 } : { perf: { now }, ttlResolution: 0 }),
      dispose: ({ tenantId }, _key, reason) => {
        if (reason !== "evict") return;
        this.#countersOf(tenantId).evictions++;
        this.#totals.evictions++;
      },
    });
  }

  get totals(): Totals {
    return this.#totals;
  }

  /** The current number of entries and bytes. */
  get size(): { entries: number; bytes: number } {
    return { entries: this.#entries?.size ?? 0, bytes: this.#entries?.calculatedSize ?? 0 };
  }

  /** The value, unless it is missing or expired. Counts a hit or a miss. */
  take(tenantId: number, patientId: number, part: Part): CachedValue | undefined {
    const found = this.#entries?.get(keyOf(tenantId, patientId, part), { allowStale: false });
    const counters = this.#countersOf(tenantId);
    const outcome = found === undefined ? "misses" : "hits";
    counters[outcome]++;
    this.#totals[outcome]++;
    return found && { stamp: found.stamp, sealed: found.sealed };
  }

  /** Stores a value and evicts others when a bound is exceeded. */
  put(tenantId: number, patientId: number, part: Part, { stamp, sealed }: CachedValue): void {
    const bytes = sealed.length + entryBytes;
    // The lifetime varies by ±10 %, so that values stored together do not expire together.
    const ttl = Math.round(this.#ttlMs * (0.9 + Math.random() * 0.2));
    this.#entries?.set(
      keyOf(tenantId, patientId, part),
      { tenantId, patientId, stamp, sealed, bytes },
      { ttl },
    );
  }

  /** A few values from a random position, or those of one patient. Does not count as use. */
  sample(countMax: number, charsMax: number, patientId: number | undefined): (CachedValue & CacheKey)[] {
    const found: (CachedValue & CacheKey)[] = [];
    const size = this.#entries?.size ?? 0;
    const from = patientId === undefined ? Math.floor(Math.random() * Math.max(1, size - countMax + 1)) : 0;
    let [at, chars] = [0, 0];
    for (const [key, entry] of this.#entries?.entries() ?? []) {
      if (at++ < from || (patientId !== undefined && entry.patientId !== patientId)) continue;
      if (found.length >= countMax || chars + entry.sealed.length > charsMax) break;
      chars += entry.sealed.length;
      const { tenantId, stamp, sealed } = entry;
      found.push({ tenantId, patientId: entry.patientId, part: partIn(key), stamp, sealed });
    }
    return found;
  }

  /**
   * Removes an outdated value, unless it was replaced meanwhile.
   * @param counted whether `take` counted a hit for it, which is changed to a miss
   */
  drop(tenantId: number, patientId: number, part: Part, stamp: string, counted: boolean): void {
    const key = keyOf(tenantId, patientId, part);
    if (this.#entries?.peek(key)?.stamp === stamp) this.#entries.delete(key);
    if (!counted) return;
    const counters = this.#countersOf(tenantId);
    this.#totals.outdated++;
    counters.hits = Math.max(0, counters.hits - 1);
    counters.misses++;
  }

  /**
   * Removes the values of a patient, or all.
   * @param tenantId undefined for all tenants
   * @returns the number of patients removed
   */
  invalidate(tenantId: number | undefined, patientId: number | undefined): number {
    const patients = new Set<string>();
    for (const [key, entry] of this.#each(tenantId)) {
      if (patientId !== undefined && entry.patientId !== patientId) continue;
      this.#entries?.delete(key);
      patients.add(`${entry.tenantId}|${entry.patientId}`);
    }
    return patients.size;
  }

  /** Removes expired values. @param tenantId undefined for all tenants */
  cleanup(tenantId: number | undefined): { removed: number; remaining: number; bytes_freed: number } {
    let [removed, remaining, freed] = [0, 0, 0];
    for (const [key, { bytes }] of this.#each(tenantId)) {
      if (!this.#isExpired(key)) remaining++;
      else if (this.#entries?.delete(key) === true) {
        removed++;
        freed += bytes;
      }
    }
    return { removed, remaining, bytes_freed: freed };
  }

  /** Counts over the current entries. @param tenantId undefined for all tenants */
  stats(tenantId: number | undefined): Stats {
    const stats = { entries: 0, expired: 0, bytes: 0, hits: 0, misses: 0, evictions: 0 };
    for (const [key, { bytes }] of this.#each(tenantId)) {
      stats.entries++;
      stats.bytes += bytes;
      if (this.#isExpired(key)) stats.expired++;
    }
    for (const [of, counters] of this.#counters) {
      if (tenantId !== undefined && of !== tenantId) continue;
      stats.hits += counters.hits;
      stats.misses += counters.misses;
      stats.evictions += counters.evictions;
    }
    return stats;
  }

  /** A copy of the entries, so that entries may be deleted during the iteration. */
  #each(tenantId: number | undefined): [string, Entry][] {
    const all = [...(this.#entries?.entries() ?? [])];
    return tenantId === undefined ? all : all.filter(([, entry]) => entry.tenantId === tenantId);
  }

  #isExpired(key: string): boolean {
    return (this.#entries?.getRemainingTTL(key) ?? 0) <= 0;
  }

  #countersOf(tenantId: number): { hits: number; misses: number; evictions: number } {
    const known = this.#counters.get(tenantId);
    if (known !== undefined) return known;
    const fresh = { hits: 0, misses: 0, evictions: 0 };
    this.#counters.set(tenantId, fresh);
    return fresh;
  }
}

const partIn = (key: string): Part => (key.endsWith("|records") ? "records" : "patient");

function keyOf(tenantId: number, patientId: number, part: Part): string {
  return `${tenantId}|${patientId}|${part}`;
}

// Sealed values in this process's memory, by tenant and patient: bounded in number and in bytes, the least recently used
// one goes first. It knows nothing of what a value holds and cannot tell whether one is still true: whoever takes one
// asks the database (see services/patients/recorded-read.ts).
import { LRUCache } from "lru-cache";

export type Part = "patient" | "records";

export interface CachedValue {
  /** The patient's stamp when the value was read. */
  stamp: string;
  /** In base64. */
  sealed: string;
}

export interface StoreOptions {
  entriesMax: number;
  bytesMax: number;
  ttlSeconds: number;
  /** In ms, for tests of time. */
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

export interface PlaceOf {
  tenantId: number;
  patientId: number;
  part: Part;
}

/** Of all tenants, since the process began; they only grow. */
export interface Totals {
  readonly hits: number;
  readonly misses: number;
  /** Hits that turned out to be of no use. */
  readonly outdated: number;
  readonly evictions: number;
}

interface Entry extends CachedValue {
  tenantId: number;
  patientId: number;
  bytes: number;
}

/** What an entry takes beside its text: key, stamp and bookkeeping. */
const entryBytes = 250;
const countersMax = 100_000;

export class CacheStore {
  readonly #entries: LRUCache<string, Entry> | undefined;
  readonly #ttlMs: number;
  readonly #totals = { hits: 0, misses: 0, outdated: 0, evictions: 0 };
  /** Hits, misses and evictions by tenant; the oldest goes when there are too many. */
  readonly #counters = new Map<number, { hits: number; misses: number; evictions: number }>();

  /** With `entriesMax` 0 it keeps nothing. */
  constructor({ entriesMax, bytesMax, ttlSeconds, now }: StoreOptions) {
    this.#ttlMs = ttlSeconds * 1000;
    if (entriesMax === 0) return;
    this.#entries = new LRUCache({
      max: entriesMax,
      maxSize: bytesMax,
      sizeCalculation: ({ bytes }) => bytes,
      // Expired entries stay to be counted and cleaned up; `take` never answers one.
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

  /** What it holds now. */
  get size(): { entries: number; bytes: number } {
    return { entries: this.#entries?.size ?? 0, bytes: this.#entries?.calculatedSize ?? 0 };
  }

  take(tenantId: number, patientId: number, part: Part): CachedValue | undefined {
    const found = this.#entries?.get(keyOf(tenantId, patientId, part), { allowStale: false });
    const counters = this.#countersOf(tenantId);
    const outcome = found === undefined ? "misses" : "hits";
    counters[outcome]++;
    this.#totals[outcome]++;
    return found && { stamp: found.stamp, sealed: found.sealed };
  }

  put(tenantId: number, patientId: number, part: Part, { stamp, sealed }: CachedValue): void {
    const bytes = sealed.length + entryBytes;
    // Up to a tenth more or less, so that what came together does not expire together.
    const ttl = Math.round(this.#ttlMs * (0.9 + Math.random() * 0.2));
    this.#entries?.set(
      keyOf(tenantId, patientId, part),
      { tenantId, patientId, stamp, sealed, bytes },
      { ttl },
    );
  }

  /** A few values from anywhere, or those of one patient; as if nobody had asked. */
  sample(countMax: number, charsMax: number, patientId: number | undefined): (CachedValue & PlaceOf)[] {
    const found: (CachedValue & PlaceOf)[] = [];
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
   * A value that turned out to be of no use.
   * @param counted it was taken, which counted as a hit: it counts as missed after all
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

  /** Removes a patient's values, or all. @param tenantId undefined: of every tenant @returns how many patients were there */
  invalidate(tenantId: number | undefined, patientId: number | undefined): number {
    const patients = new Set<string>();
    for (const [key, entry] of this.#each(tenantId)) {
      if (patientId !== undefined && entry.patientId !== patientId) continue;
      this.#entries?.delete(key);
      patients.add(`${entry.tenantId}|${entry.patientId}`);
    }
    return patients.size;
  }

  /** Removes what has expired. */
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

  /** A copy, so that what is found may be deleted on the way. */
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
    if (this.#counters.size >= countersMax) {
      for (const [oldest] of this.#counters) {
        this.#counters.delete(oldest);
        break;
      }
    }
    const fresh = { hits: 0, misses: 0, evictions: 0 };
    this.#counters.set(tenantId, fresh);
    return fresh;
  }
}

const partIn = (key: string): Part => (key.endsWith("|records") ? "records" : "patient");

function keyOf(tenantId: number, patientId: number, part: Part): string {
  return `${tenantId}|${patientId}|${part}`;
}

// Rates of one process, kept in memory: each key may take `perMinute` at once, and then as much as flows in again. Costs no
// round trip, so it is fit for every request; every process counts for itself.
import { LRUCache } from "lru-cache";

interface Bucket {
  tokens: number;
  atMs: number;
}

export class TokenBuckets<Key extends string | number> {
  readonly #capacity: number;
  readonly #perMs: number;
  readonly #buckets: LRUCache<Key, Bucket>;

  /** @param keysMax beyond it the key that has been silent longest is forgotten, which only forgives */
  constructor(perMinute: number, keysMax: number) {
    this.#capacity = perMinute;
    this.#perMs = perMinute / 60_000;
    this.#buckets = new LRUCache({ max: keysMax });
  }

  /**
   * @param nowMs of a clock that never goes back
   * @param weight at most what a full bucket holds
   * @returns 0 when it was taken, else the whole seconds until it could be
   */
  take(key: Key, nowMs: number, weight = 1): number {
    const bucket = this.#buckets.get(key);
    const wanted = Math.min(weight, this.#capacity);
    if (bucket === undefined) {
      this.#buckets.set(key, { tokens: this.#capacity - wanted, atMs: nowMs });
      return 0;
    }
    bucket.tokens = Math.min(this.#capacity, bucket.tokens + (nowMs - bucket.atMs) * this.#perMs);
    bucket.atMs = nowMs;
    if (bucket.tokens < wanted) return Math.ceil((wanted - bucket.tokens) / this.#perMs / 1000);
    bucket.tokens -= wanted;
    return 0;
  }

  /** @returns 0 when there is one to take, else the whole seconds until there is; takes nothing */
  wait(key: Key, nowMs: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return 0;
    const tokens = bucket.tokens + (nowMs - bucket.atMs) * this.#perMs;
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / this.#perMs / 1000);
  }

  /** Takes one that is used already, also where there is none: down to a minute's debt. */
  charge(key: Key, nowMs: number): void {
    if (this.take(key, nowMs) === 0) return;
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens = Math.max(bucket.tokens - 1, -this.#capacity);
  }
}

// Rate limits of one process, kept in memory: each key may take `perMinute` at once, and then as many as are refilled. They need
// no round trip, so they can be used for every request. Every process counts separately.
import { LRUCache } from "lru-cache";

interface Bucket {
  tokens: number;
  atMs: number;
}

/** One token bucket per key; at most `keysMax` keys. */
export class TokenBuckets<Key extends string | number> {
  readonly #capacity: number;
  readonly #perMs: number;
  readonly #buckets: LRUCache<Key, Bucket>;

  /** @param keysMax when it is exceeded the least recently used key is evicted, which only makes the limit more generous */
  constructor(perMinute: number, keysMax: number) {
    this.#capacity = perMinute;
    this.#perMs = perMinute / 60_000;
    this.#buckets = new LRUCache({ max: keysMax });
  }

  /**
   * @param nowMs time of a monotonic clock
   * @param weight at most the capacity of a bucket
   * @returns 0 if it was taken, otherwise the whole seconds until it can be
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

  /** @returns 0 if one can be taken, otherwise the whole seconds until then. Takes nothing. */
  wait(key: Key, nowMs: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return 0;
    const tokens = bucket.tokens + (nowMs - bucket.atMs) * this.#perMs;
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / this.#perMs / 1000);
  }

  /** Takes one for something that was already used, also from an empty bucket: down to a debt of one minute. */
  charge(key: Key, nowMs: number): void {
    if (this.take(key, nowMs) === 0) return;
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens = Math.max(bucket.tokens - 1, -this.#capacity);
  }
}

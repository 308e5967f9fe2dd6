// Caches the tenants' keys in memory for at most a minute; then they are loaded again. There is one request per tenant at a time.
// An unknown key id causes a request at once, but not repeatedly if nobody has that key.
import { LRUCache } from "lru-cache";
import { keyIdOf } from "./ciphertext.ts";
import { type KeyOnWire, TenantKeys, type UseCount } from "./tenant-keys.ts";

/** Calls the crypto service. @param wornKeyId a key that has encrypted enough texts and must be replaced */
export type LoadKeys = (tenantId: number, wornKeyId: number | undefined) => Promise<readonly KeyOnWire[]>;

export interface KeyCacheOptions {
  cachedMsMax: number;
  tenantsMax: number;
  /** Random 96-bit nonces are safe for 2^32 texts per key; up to four processes may encrypt at the same time. */
  sealsMax: number;
  /** How long an unknown key id is not requested again. */
  missingMs: number;
}

const defaults: KeyCacheOptions = {
  cachedMsMax: 60_000,
  tenantsMax: 10_000,
  sealsMax: 2 ** 30,
  missingMs: 1_000,
};
const countersMax = 100_000;
const missingMax = 1_000;

export class KeyCache {
  readonly #options: KeyCacheOptions;
  readonly #cached: LRUCache<number, TenantKeys>;
  readonly #loading = new Map<number, Promise<TenantKeys>>();
  /** Counters of the most recently used keys. */
  readonly #uses = new LRUCache<number, UseCount>({ max: countersMax, memoMethod: () => ({ seals: 0 }) });
  /** "tenant|key" of keys that are not requested again for a while. */
  readonly #missing: LRUCache<string, true>;

  constructor(options: Partial<KeyCacheOptions> = {}) {
    this.#options = { ...defaults, ...options };
    const { tenantsMax, cachedMsMax, missingMs } = this.#options;
    // With timers, so that keys are evicted in time even if nobody asks for them.
    this.#cached = new LRUCache({ max: tenantsMax, ttl: cachedMsMax, ttlResolution: 0, ttlAutopurge: true });
    this.#missing = new LRUCache({ max: missingMax, ttl: missingMs });
  }

  /** The number of tenants whose keys are cached. */
  get size(): number {
    return this.#cached.size;
  }

  /** @returns keys to encrypt, index and decrypt */
  async of(tenantId: number, load: LoadKeys): Promise<TenantKeys> {
    const keys = this.#cached.get(tenantId) ?? (await this.#load(tenantId, load));
    return keys.seals < this.#options.sealsMax ? keys : this.#load(tenantId, load, keys.fieldKeyId);
  }

  /** @returns keys to decrypt `sealed`. Loads the keys again if one of the texts names a key that is not cached. */
  async opening(tenantId: number, sealed: readonly Buffer[], load: LoadKeys): Promise<TenantKeys> {
    let keys = await this.of(tenantId, load);
    // The first load may have been shared with a caller from before the key was created; the second one was not.
    for (let asked = 0; asked < 2; asked++) {
      const cached = keys;
      if (sealed.every((each) => cached.holdsKeyOf(each) || this.#isMissing(tenantId, each))) return keys;
      keys = await this.#load(tenantId, load);
    }
    for (const each of sealed) if (!keys.holdsKeyOf(each)) this.#markMissing(tenantId, each);
    return keys;
  }

  /** Evicts all keys at once. */
  clear(): void {
    this.#cached.clear();
  }

  #load(tenantId: number, load: LoadKeys, wornKeyId?: number): Promise<TenantKeys> {
    const loading = this.#loading.get(tenantId);
    if (loading !== undefined) return loading;
    const start = performance.now();
    const asked = load(tenantId, wornKeyId)
      .then((keys) => this.#keep(tenantId, keys, start))
      .finally(() => this.#loading.delete(tenantId));
    this.#loading.set(tenantId, asked);
    return asked;
  }

  /** @param start of their time: before they were asked for */
  #keep(tenantId: number, wired: readonly KeyOnWire[], start: number): TenantKeys {
    const keys = new TenantKeys(tenantId, wired, (keyId) => this.#uses.memo(keyId));
    this.#cached.set(tenantId, keys, { start });
    return keys;
  }

  #isMissing(tenantId: number, sealed: Buffer): boolean {
    return this.#missing.has(`${tenantId}|${keyIdOf(sealed)}`);
  }

  #markMissing(tenantId: number, sealed: Buffer): void {
    this.#missing.set(`${tenantId}|${keyIdOf(sealed)}`, true);
  }
}

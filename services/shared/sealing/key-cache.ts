// The tenants' keys in this process's memory: for a minute at most, then they are gone and asked for again. One question
// per tenant at a time; a key id that is not known is asked for at once, but one that nobody has, not again and again.
import { LRUCache } from "lru-cache";
import { keyIdOf } from "./ciphertext.ts";
import { type KeyOnWire, TenantKeys, type UseCount } from "./tenant-keys.ts";

/** Asks the crypto service. @param wornKeyId a sealing key that has been used enough and must be followed by another */
export type LoadKeys = (tenantId: number, wornKeyId: number | undefined) => Promise<readonly KeyOnWire[]>;

export interface KeyCacheOptions {
  heldMsMax: number;
  tenantsMax: number;
  /** Random nonces of 96 bits are safe for 2^32 seals under one key; four processes may seal beside each other. */
  sealsMax: number;
  /** For so long a key id that was asked for in vain is not asked for again. */
  missingMs: number;
}

const defaults: KeyCacheOptions = {
  heldMsMax: 60_000,
  tenantsMax: 10_000,
  sealsMax: 2 ** 30,
  missingMs: 1_000,
};
const countersMax = 100_000;
const missingMax = 1_000;

export class KeyCache {
  readonly #options: KeyCacheOptions;
  readonly #held: LRUCache<number, TenantKeys>;
  readonly #loading = new Map<number, Promise<TenantKeys>>();
  /** Of the keys used last. */
  readonly #uses = new LRUCache<number, UseCount>({ max: countersMax, memoMethod: () => ({ seals: 0 }) });
  /** "tenant|key" of keys that are not asked for again for a while. */
  readonly #missing: LRUCache<string, true>;

  constructor(options: Partial<KeyCacheOptions> = {}) {
    this.#options = { ...defaults, ...options };
    const { tenantsMax, heldMsMax, missingMs } = this.#options;
    // By timers: keys leave the memory in time also where nobody asks for them.
    this.#held = new LRUCache({ max: tenantsMax, ttl: heldMsMax, ttlResolution: 0, ttlAutopurge: true });
    this.#missing = new LRUCache({ max: missingMax, ttl: missingMs });
  }

  /** How many tenants' keys are in memory. */
  get size(): number {
    return this.#held.size;
  }

  /** Keys to seal, index and open with. */
  async of(tenantId: number, load: LoadKeys): Promise<TenantKeys> {
    const keys = this.#held.get(tenantId) ?? (await this.#load(tenantId, load));
    return keys.seals < this.#options.sealsMax ? keys : this.#load(tenantId, load, keys.fieldKeyId);
  }

  /** Keys to open `sealed` with: asks anew when one of them names a key that is not held. */
  async opening(tenantId: number, sealed: readonly Buffer[], load: LoadKeys): Promise<TenantKeys> {
    let keys = await this.of(tenantId, load);
    // The first question may have been another's, from before the key was made; the second is not.
    for (let asked = 0; asked < 2; asked++) {
      const held = keys;
      if (sealed.every((each) => held.holdsKeyOf(each) || this.#isMissing(tenantId, each))) return keys;
      keys = await this.#load(tenantId, load);
    }
    for (const each of sealed) if (!keys.holdsKeyOf(each)) this.#markMissing(tenantId, each);
    return keys;
  }

  /** Forgets all keys at once. */
  clear(): void {
    this.#held.clear();
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
    this.#held.set(tenantId, keys, { start });
    return keys;
  }

  #isMissing(tenantId: number, sealed: Buffer): boolean {
    return this.#missing.has(`${tenantId}|${keyIdOf(sealed)}`);
  }

  #markMissing(tenantId: number, sealed: Buffer): void {
    this.#missing.set(`${tenantId}|${keyIdOf(sealed)}`, true);
  }
}

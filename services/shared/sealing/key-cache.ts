// The tenants' keys in this process's memory: for a minute at most, then they are gone and asked for again. One question
// per tenant at a time; a key id that is not known is asked for at once, but one that nobody has, not again and again.
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

interface Held {
  keys: TenantKeys;
  until: number;
}

export class KeyCache {
  readonly #options: KeyCacheOptions;
  /** In the order of loading, which is that of expiry. */
  readonly #held = new Map<number, Held>();
  readonly #loading = new Map<number, Promise<TenantKeys>>();
  readonly #uses = new Map<number, UseCount>();
  /** "tenant|key" → until when it is not asked for again. */
  readonly #missing = new Map<string, number>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: Partial<KeyCacheOptions> = {}) {
    this.#options = { ...defaults, ...options };
  }

  /** How many tenants' keys are in memory. */
  get size(): number {
    return this.#held.size;
  }

  /** Keys to seal, index and open with. */
  async of(tenantId: number, load: LoadKeys): Promise<TenantKeys> {
    const held = this.#held.get(tenantId);
    const keys =
      held !== undefined && held.until > performance.now() ? held.keys : await this.#load(tenantId, load);
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
    clearTimeout(this.#sweeper);
    this.#sweeper = undefined;
    this.#held.clear();
  }

  #load(tenantId: number, load: LoadKeys, wornKeyId?: number): Promise<TenantKeys> {
    const loading = this.#loading.get(tenantId);
    if (loading !== undefined) return loading;
    const until = performance.now() + this.#options.heldMsMax;
    const asked = load(tenantId, wornKeyId)
      .then((keys) => this.#keep(tenantId, keys, until))
      .finally(() => this.#loading.delete(tenantId));
    this.#loading.set(tenantId, asked);
    return asked;
  }

  #keep(tenantId: number, wired: readonly KeyOnWire[], until: number): TenantKeys {
    const keys = new TenantKeys(tenantId, wired, (keyId) => this.#usesOf(keyId));
    this.#held.delete(tenantId);
    dropOldest(this.#held, this.#options.tenantsMax);
    this.#held.set(tenantId, { keys, until });
    this.#sweepLater(until);
    return keys;
  }

  #usesOf(keyId: number): UseCount {
    const known = this.#uses.get(keyId);
    if (known !== undefined) return known;
    dropOldest(this.#uses, countersMax);
    const uses = { seals: 0 };
    this.#uses.set(keyId, uses);
    return uses;
  }

  #sweepLater(at: number): void {
    if (this.#sweeper !== undefined) return;
    this.#sweeper = setTimeout(
      () => {
        this.#sweeper = undefined;
        const now = performance.now();
        for (const [tenantId, { until }] of this.#held) {
          if (until > now) return this.#sweepLater(until);
          this.#held.delete(tenantId);
        }
      },
      Math.max(1, at - performance.now()),
    ).unref();
  }

  #isMissing(tenantId: number, sealed: Buffer): boolean {
    return (this.#missing.get(`${tenantId}|${keyIdOf(sealed)}`) ?? 0) > performance.now();
  }

  #markMissing(tenantId: number, sealed: Buffer): void {
    const name = `${tenantId}|${keyIdOf(sealed)}`;
    // Marked again it is the youngest, and none of the others must go for it.
    this.#missing.delete(name);
    dropOldest(this.#missing, missingMax);
    this.#missing.set(name, performance.now() + this.#options.missingMs);
  }
}

function dropOldest<K>(map: Map<K, unknown>, sizeMax: number): void {
  if (map.size < sizeMax) return;
  for (const [oldest] of map) {
    map.delete(oldest);
    return;
  }
}

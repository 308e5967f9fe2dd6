// How long, how many and how often: the keys that a process holds in memory.
import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "@jest/globals";
import { seal } from "../../../../../services/shared/sealing/ciphertext.ts";
import { KeyCache, type KeyCacheOptions } from "../../../../../services/shared/sealing/key-cache.ts";
import type { KeyOnWire } from "../../../../../services/shared/sealing/tenant-keys.ts";
import { createSecretKey } from "node:crypto";
import { eventually } from "../../../../support/service.ts";

/** A crypto service of one test: what it has, and what it was asked. */
class Keyring {
  keys: KeyOnWire[] = [];
  asked: { tenantId: number; worn: number | undefined }[] = [];
  #next = 1;

  constructor() {
    this.add("field");
    this.add("index");
  }

  add(purpose: KeyOnWire["purpose"]): KeyOnWire {
    this.keys = this.keys.map((each) =>
      each.purpose === purpose ? { ...each, state: "decrypt_only" } : each,
    );
    const made: KeyOnWire = {
      id: this.#next++,
      purpose,
      state: "primary",
      key: randomBytes(32).toString("base64"),
    };
    this.keys.push(made);
    return made;
  }

  readonly load = async (tenantId: number, worn: number | undefined): Promise<KeyOnWire[]> => {
    this.asked.push({ tenantId, worn });
    if (worn !== undefined) this.add("field");
    const answer = [...this.keys];
    await new Promise((resolve) => setImmediate(resolve));
    return answer;
  };
}

const caches: KeyCache[] = [];
const cacheWith = (options: Partial<KeyCacheOptions> = {}) => {
  const cache = new KeyCache(options);
  caches.push(cache);
  return cache;
};
afterEach(() => {
  for (const cache of caches.splice(0)) cache.clear();
});
const sealedWith = ({ id, key }: KeyOnWire) =>
  seal(id, createSecretKey(key, "base64"), Buffer.from("1|patients|notes|1"), "x");

describe("keys", () => {
  it("are asked for once, however many want them at once or later", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    const all = await Promise.all(Array.from({ length: 50 }, () => cache.of(1, ring.load)));
    await cache.of(1, ring.load);
    expect(new Set(all).size).toBe(1);
    expect(ring.asked).toHaveLength(1);
  });

  it("are kept by tenant", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    const [one, two] = [await cache.of(1, ring.load), await cache.of(2, ring.load)];
    expect([one.tenantId, two.tenantId]).toEqual([1, 2]);
    expect(ring.asked.map(({ tenantId }) => tenantId)).toEqual([1, 2]);
  });

  it("are gone from memory after their time though nobody asks, and asked for again", async () => {
    const [ring, cache] = [new Keyring(), cacheWith({ cachedMsMax: 30 })];
    await cache.of(1, ring.load);
    await cache.of(2, ring.load);
    expect(cache.size).toBe(2);
    await eventually(async () => cache.size === 0);
    await cache.of(1, ring.load);
    expect(ring.asked).toHaveLength(3);
  });

  it("are not used beyond a minute, counted from the question", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    const before = performance.now.bind(performance);
    await cache.of(1, ring.load);
    try {
      let ahead = 59_000;
      performance.now = () => before() + ahead;
      await cache.of(1, ring.load);
      expect(ring.asked).toHaveLength(1);
      ahead = 60_001;
      await cache.of(1, ring.load);
      expect(ring.asked).toHaveLength(2);
    } finally {
      performance.now = before;
    }
  });

  it("of few tenants only are held: the oldest go", async () => {
    const [ring, cache] = [new Keyring(), cacheWith({ tenantsMax: 3 })];
    for (const tenantId of [1, 2, 3, 4]) await cache.of(tenantId, ring.load);
    expect(cache.size).toBe(3);
    await cache.of(4, ring.load);
    expect(ring.asked).toHaveLength(4);
    await cache.of(1, ring.load);
    expect(ring.asked).toHaveLength(5);
  });

  it("are asked for again after a failure, which everybody who waited is told", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    const failing = () => Promise.reject(new Error("away"));
    const results = await Promise.allSettled([cache.of(1, failing), cache.of(1, failing)]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect((await cache.of(1, ring.load)).tenantId).toBe(1);
  });

  it("worn by use are followed by another", async () => {
    const [ring, cache] = [new Keyring(), cacheWith({ sealsMax: 3 })];
    for (let times = 0; times < 3; times++) {
      (await cache.of(1, ring.load)).seal("patients", "notes", 1, "x");
    }
    expect(ring.asked).toEqual([{ tenantId: 1, worn: undefined }]);
    const next = await cache.of(1, ring.load);
    expect(ring.asked).toEqual([
      { tenantId: 1, worn: undefined },
      { tenantId: 1, worn: 1 },
    ]);
    expect([next.fieldKeyId, next.seals]).toEqual([3, 0]);
  });

  it("are counted beyond the time they are held", async () => {
    const [ring, cache] = [new Keyring(), cacheWith({ sealsMax: 2 })];
    (await cache.of(1, ring.load)).seal("patients", "notes", 1, "x");
    cache.clear();
    (await cache.of(1, ring.load)).seal("patients", "notes", 1, "x");
    cache.clear();
    await cache.of(1, ring.load);
    expect(ring.asked.at(-1)).toEqual({ tenantId: 1, worn: 1 });
  });
});

describe("a key id that is not held", () => {
  it("is asked for at once, and opens", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    await cache.of(1, ring.load);
    const sealed = sealedWith(ring.add("field"));
    const keys = await cache.opening(1, [sealed], ring.load);
    expect(keys.open("patients", "notes", 1, sealed)).toBe("x");
    expect(ring.asked).toHaveLength(2);
  });

  it("that nobody has is not asked for again and again, and hinders no other", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    const lost = seal(99, createSecretKey(randomBytes(32)), Buffer.from("1|patients|notes|1"), "x");
    for (let times = 0; times < 20; times++) await cache.opening(1, [lost], ring.load);
    const before = ring.asked.length;
    expect(before).toBeLessThanOrEqual(3);
    const sealed = sealedWith(ring.add("field"));
    const keys = await cache.opening(1, [lost, sealed], ring.load);
    expect(keys.open("patients", "notes", 1, sealed)).toBe("x");
    expect(ring.asked.length).toBeLessThanOrEqual(before + 2);
  });

  it("that nobody has is one question or two a second, however many meet it at once", async () => {
    const [ring, cache] = [new Keyring(), cacheWith({ missingMs: 40 })];
    const lost = seal(99, createSecretKey(randomBytes(32)), Buffer.from("1|patients|notes|1"), "x");
    const many = () => Promise.all(Array.from({ length: 50 }, () => cache.opening(1, [lost], ring.load)));
    await many();
    await many();
    expect(ring.asked.length).toBeLessThanOrEqual(3);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await many();
    expect(ring.asked.length).toBeLessThanOrEqual(5);
  });

  it("is found though the question under way is older than the key", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    const early = cache.of(1, ring.load);
    const sealed = sealedWith(ring.add("field"));
    const keys = await cache.opening(1, [sealed], ring.load);
    expect(keys.open("patients", "notes", 1, sealed)).toBe("x");
    await early;
  });

  it("is no question when the bytes are no sealed text", async () => {
    const [ring, cache] = [new Keyring(), cacheWith()];
    await cache.opening(1, [Buffer.from("garbage"), Buffer.alloc(0)], ring.load);
    expect(ring.asked).toHaveLength(1);
  });
});

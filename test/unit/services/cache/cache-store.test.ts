// The store by itself: bounds in number, bytes and time, counts that add up, and no way from one tenant to another.
import { describe, expect, it } from "@jest/globals";
import { CacheStore, type StoreOptions } from "../../../../services/cache/cache-store.ts";

const stamp = "0b0c7a52-3f6e-4a55-9f0e-6f1d2c3b4a59";
const value = (chars = 100) => ({ stamp, sealed: "x".repeat(chars) });

function makeStore(options: Partial<StoreOptions> = {}) {
  let nowMs = 1_000;
  const store = new CacheStore({
    entriesMax: 100,
    bytesMax: 1_000_000,
    ttlSeconds: 100,
    now: () => nowMs,
    ...options,
  });
  return { store, pass: (ms: number) => void (nowMs += ms) };
}

describe("a value", () => {
  it("is taken as it was put, by its tenant, patient and part only", () => {
    const { store } = makeStore();
    store.put(1, 7, "patient", value());
    expect(store.take(1, 7, "patient")).toEqual(value());
    expect(store.take(1, 7, "records")).toBeUndefined();
    expect(store.take(1, 8, "patient")).toBeUndefined();
    expect(store.take(2, 7, "patient")).toBeUndefined();
    // Were the key made without separators, these would be the same.
    expect(store.take(11, 7, "patient")).toBeUndefined();
  });

  it("expires after its time, give or take a tenth, and stays to be counted until it is cleaned up", () => {
    const { store, pass } = makeStore();
    for (let id = 1; id <= 50; id++) store.put(1, id, "patient", value());
    pass(89_000);
    expect(store.stats(1)).toMatchObject({ entries: 50, expired: 0 });
    pass(22_000);
    expect(store.stats(1)).toMatchObject({ entries: 50, expired: 50 });
    for (let id = 1; id <= 50; id++) expect(store.take(1, id, "patient")).toBeUndefined();
    expect(store.cleanup(1)).toEqual({ removed: 50, remaining: 0, bytes_freed: 50 * 350 });
    expect(store.stats(1)).toMatchObject({ entries: 0, expired: 0, bytes: 0 });
  });

  it("does not expire all at once with those that came with it", () => {
    const { store, pass } = makeStore();
    for (let id = 1; id <= 100; id++) store.put(1, id, "patient", value());
    pass(100_000);
    const { expired } = store.stats(1);
    expect(expired).toBeGreaterThan(20);
    expect(expired).toBeLessThan(80);
  });

  it("is not kept longer by being taken", () => {
    const { store, pass } = makeStore();
    store.put(1, 1, "patient", value());
    for (let second = 0; second < 120; second += 10) {
      store.take(1, 1, "patient");
      pass(10_000);
    }
    expect(store.take(1, 1, "patient")).toBeUndefined();
  });
});

describe("bounds", () => {
  it("of number: the least recently used goes, and counts as evicted of its tenant", () => {
    const { store } = makeStore({ entriesMax: 3 });
    for (const id of [1, 2, 3]) store.put(1, id, "patient", value());
    store.take(1, 1, "patient");
    store.put(2, 9, "patient", value());
    expect(store.take(1, 2, "patient")).toBeUndefined();
    expect(store.take(1, 1, "patient")).toBeDefined();
    expect([store.stats(1).evictions, store.stats(2).evictions]).toEqual([1, 0]);
  });

  it("of bytes: however many come, no more than allowed stay", () => {
    const { store } = makeStore({ entriesMax: 1_000_000, bytesMax: 10_000 });
    for (let id = 1; id <= 500; id++) store.put(1, id, "patient", value(id));
    const { bytes, entries } = store.stats(undefined);
    expect(bytes).toBeLessThanOrEqual(10_000);
    expect(entries).toBeGreaterThan(10);
  });

  it("a value that is larger than the whole cache is not kept and drives nothing out", () => {
    const { store } = makeStore({ bytesMax: 10_000 });
    store.put(1, 1, "patient", value());
    store.put(1, 2, "patient", value(20_000));
    expect(store.take(1, 2, "patient")).toBeUndefined();
    expect(store.take(1, 1, "patient")).toBeDefined();
  });

  it("switched off it keeps nothing and counts all the same", () => {
    const { store } = makeStore({ entriesMax: 0 });
    store.put(1, 1, "patient", value());
    expect(store.take(1, 1, "patient")).toBeUndefined();
    expect(store.stats(1)).toEqual({ entries: 0, expired: 0, bytes: 0, hits: 0, misses: 1, evictions: 0 });
  });
});

describe("counts", () => {
  it("are kept by tenant and add up over all", () => {
    const { store } = makeStore();
    store.put(1, 1, "patient", value());
    for (const id of [1, 1, 2]) store.take(1, id, "patient");
    store.take(2, 1, "patient");
    expect(store.stats(1)).toMatchObject({ entries: 1, bytes: 350, hits: 2, misses: 1 });
    expect(store.stats(2)).toMatchObject({ entries: 0, bytes: 0, hits: 0, misses: 1 });
    expect(store.stats(undefined)).toMatchObject({ entries: 1, hits: 2, misses: 2 });
  });

  it("a value that proved of no use was no hit", () => {
    const { store } = makeStore();
    store.put(1, 1, "patient", value());
    store.take(1, 1, "patient");
    store.drop(1, 1, "patient", stamp, true);
    expect(store.stats(1)).toMatchObject({ entries: 0, hits: 0, misses: 1 });
  });

  it("dropping an older value leaves a newer one", () => {
    const { store } = makeStore();
    store.put(1, 1, "patient", value());
    store.drop(1, 1, "patient", "00000000-0000-4000-8000-000000000000", false);
    expect(store.take(1, 1, "patient")).toBeDefined();
  });
});

describe("invalidation", () => {
  const filled = () => {
    const { store } = makeStore();
    for (const tenant of [1, 2]) {
      for (const id of [1, 2]) {
        store.put(tenant, id, "patient", value());
        store.put(tenant, id, "records", value());
      }
    }
    return store;
  };
  it.each([
    ["one patient of one tenant", 1, 2, 1, 6],
    ["one patient in every tenant", undefined, 2, 2, 4],
    ["all of one tenant", 2, undefined, 2, 4],
    ["everything", undefined, undefined, 4, 0],
    ["a patient that is not there", 1, 9, 0, 8],
    ["a tenant that is not there", 9, undefined, 0, 8],
  ])("%s", (_what, tenant, patient, invalidated, left) => {
    const store = filled();
    expect(store.invalidate(tenant, patient)).toBe(invalidated);
    expect(store.stats(undefined).entries).toBe(left);
  });
});

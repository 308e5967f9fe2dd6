// Values for several readers in one answer: each at its place, and never more than the bus carries.
import { describe, expect, it } from "@jest/globals";
import { CacheStore } from "../../../../services/cache/cache-store.ts";
import { sealedCharsMax } from "../../../../services/cache/cache.contract.ts";
import { takeMany } from "../../../../services/cache/take-many.ts";

const busCharsMax = 1_000_000;
const filled = (...patientIds: number[]) => {
  const store = new CacheStore({ entriesMax: 100, bytesMax: 100_000_000, ttlSeconds: 100 });
  for (const id of patientIds) store.put(1, id, "patient", { stamp: `stamp ${id}`, sealed: `sealed ${id}` });
  return store;
};
const ofPatients = (...ids: number[]) => ({
  tenant_ids: ids.map(() => 1),
  patient_ids: ids,
  parts: ids.map(() => "patient" as const),
});

describe("several values", () => {
  it("stand at the places they were asked for, and nothing where there is none", () => {
    const taken = takeMany(filled(5, 7), ofPatients(7, 6, 5, 7));
    expect(taken.map((value) => value?.sealed)).toEqual(["sealed 7", undefined, "sealed 5", "sealed 7"]);
    expect(taken[1]).toBeNull();
  });

  it("are each of their own tenant and part", () => {
    const store = filled(5);
    store.put(2, 5, "patient", { stamp: "-", sealed: "of the other tenant" });
    store.put(1, 5, "records", { stamp: "-", sealed: "records" });
    const taken = takeMany(store, {
      tenant_ids: [2, 1, 1, 2],
      patient_ids: [5, 5, 5, 5],
      parts: ["patient", "records", "patient", "records"],
    });
    expect(taken.map((value) => value?.sealed ?? null)).toEqual([
      "of the other tenant",
      "records",
      "sealed 5",
      null,
    ]);
  });

  it("lists of unequal length give nothing where one has ended", () => {
    const store = filled(5, 7);
    expect(takeMany(store, { ...ofPatients(5, 7), tenant_ids: [1] })[1]).toBeNull();
    expect(takeMany(store, { ...ofPatients(5, 7), parts: [] })).toEqual([null, null]);
  });

  it("the longest are left out as soon as the answer might be more than the bus carries, and count as not asked for", () => {
    const store = filled();
    const ids = [1, 2, 3, 4, 5];
    for (const id of ids) store.put(1, id, "patient", { stamp: "-", sealed: "x".repeat(sealedCharsMax) });
    const taken = takeMany(store, ofPatients(...ids));
    expect(taken.map((value) => value !== null)).toEqual([true, true, false, false, false]);
    expect(JSON.stringify(taken).length).toBeLessThan(busCharsMax);
    expect(store.stats(1)).toMatchObject({ entries: 5, hits: 2, misses: 0 });
  });

  it("of nothing are none", () => {
    expect(takeMany(filled(1), ofPatients())).toEqual([]);
  });
});

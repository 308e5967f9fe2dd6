// The way to the cache: readers of one moment share a call, each gets what it asked for, and a cache that is ill costs
// one short wait for all of them.
import { describe, expect, it } from "@jest/globals";
import {
  type Bus,
  CacheClient,
  type CachedValue,
  type CacheKey,
} from "../../../../services/patients/cache-client.ts";

interface Wanted {
  tenant_ids: number[];
  patient_ids: number[];
  parts: string[];
}
type Answer = (wanted: Wanted) => Promise<(CachedValue | null)[]>;

/** A bus that holds the calls it carried. */
function busOf(answer: Answer) {
  const calls: Wanted[] = [];
  const carry = (name: string, wanted: Wanted) => {
    if (name !== "cache.take") throw new Error(`${name} was not expected`);
    calls.push(wanted);
    return answer(wanted);
  };
  // Only what the door calls, and only with what it sends.
  return { calls, bus: { bus: carry, busForService: carry } as unknown as Bus };
}

const doorOf = (entriesMax = 10) =>
  // The door reads one setting.
  new CacheClient({ cacheEntriesMax: entriesMax } as ConstructorParameters<typeof CacheClient>[0]);
const place = (patientId: number, tenantId = 1): CacheKey => ({ tenantId, patientId, part: "patient" });
const echo: Answer = async ({ tenant_ids: tenants, patient_ids: patients }) =>
  patients.map((id, at) => (id === 404 ? null : { stamp: "-", sealed: `${tenants[at]}|${id}` }));

describe("taking", () => {
  it("of one moment is one call, whoever asks, and each gets its own", async () => {
    const { bus, calls } = busOf(echo);
    const door = doorOf();
    const places = [place(7), place(404), place(8, 2), place(7)];
    const taken = await Promise.all(places.map((each) => door.take(bus, each)));
    expect(calls).toEqual([
      {
        tenant_ids: [1, 1, 2, 1],
        patient_ids: [7, 404, 8, 7],
        parts: ["patient", "patient", "patient", "patient"],
      },
    ]);
    expect(taken.map((value) => value?.sealed)).toEqual(["1|7", undefined, "2|8", "1|7"]);
  });

  it("of more than one call carries is several calls, and nobody is forgotten", async () => {
    const { bus, calls } = busOf(echo);
    const door = doorOf();
    const ids = Array.from({ length: 250 }, (_, n) => n + 1);
    const taken = await Promise.all(ids.map((id) => door.take(bus, place(id))));
    expect(calls.map(({ patient_ids: asked }) => asked.length)).toEqual([100, 100, 50]);
    expect(taken.map((value) => value?.sealed)).toEqual(ids.map((id) => `1|${id}`));
  });

  it("an answer that is too short is nothing for the rest", async () => {
    const { bus } = busOf(async () => [{ stamp: "-", sealed: "first" }]);
    const door = doorOf();
    const taken = await Promise.all([1, 2].map((id) => door.take(bus, place(id))));
    expect(taken).toEqual([{ stamp: "-", sealed: "first" }, undefined]);
  });

  it("from a cache that fails costs one call for all who wait for it, and for those who come soon after", async () => {
    const { bus, calls } = busOf(async () => {
      throw new Error("no answer");
    });
    const door = doorOf();
    const ids = Array.from({ length: 250 }, (_, n) => n + 1);
    const taken = await Promise.all(ids.map((id) => door.take(bus, place(id))));
    expect(taken.every((value) => value === undefined)).toBe(true);
    expect(await door.take(bus, place(1))).toBeUndefined();
    expect(calls).toHaveLength(1);
  });
});

it("a cache that is not wanted is off", () => {
  expect([doorOf(0).isOff, doorOf(1).isOff]).toEqual([true, false]);
});

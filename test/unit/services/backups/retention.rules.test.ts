// The retention, by a year of nights.
import { describe, expect, it } from "@jest/globals";
import { type Kept, toRemove } from "../../../../services/backups/retention.rules.ts";

const nightsUntil = (last: string, count: number): Kept[] =>
  Array.from({ length: count }, (_, back) => {
    const takenAt = new Date(Date.parse(`${last}T02:20:00Z`) - back * 86_400_000);
    return { id: takenAt.toISOString().slice(0, 10), takenAt };
  });
const keptOf = (backups: Kept[]) => {
  const removed = new Set(toRemove(backups));
  return backups.filter(({ id }) => !removed.has(id)).map(({ id }) => id);
};

describe("the retention", () => {
  it("keeps seven days, four weeks and twelve months of a long year", () => {
    // 2026-11-21 is a Saturday.
    expect(keptOf(nightsUntil("2026-11-21", 500))).toEqual([
      "2026-11-21",
      "2026-11-20",
      "2026-11-19",
      "2026-11-18",
      "2026-11-17",
      "2026-11-16",
      "2026-11-15",
      "2026-11-08",
      "2026-11-01",
      "2026-10-31",
      "2026-09-30",
      "2026-08-31",
      "2026-07-31",
      "2026-06-30",
      "2026-05-31",
      "2026-04-30",
      "2026-03-31",
      "2026-02-28",
      "2026-01-31",
      "2025-12-31",
    ]);
  });
  it("night by night it ends with the same as all at once", () => {
    const nights = nightsUntil("2026-11-21", 500).reverse();
    let present: Kept[] = [];
    for (const night of nights) {
      present = [...present, night];
      const removed = new Set(toRemove(present));
      expect(removed.has(night.id)).toBe(false);
      present = present.filter(({ id }) => !removed.has(id));
    }
    expect(present.length).toBeLessThanOrEqual(7 + 4 + 12);
    expect(present.map(({ id }) => id)).toEqual(
      expect.arrayContaining(["2026-11-21", "2026-10-31", "2025-12-31"]),
    );
  });
  it("of several of one day the newest is kept", () => {
    const at = (hour: number) => ({ id: `at ${hour}`, takenAt: new Date(Date.UTC(2026, 0, 5, hour)) });
    expect(keptOf([at(1), at(23), at(12)])).toEqual(["at 23"]);
  });
  it("what is there is never fewer for want of nights", () => {
    expect(toRemove([])).toEqual([]);
    expect(toRemove(nightsUntil("2024-02-29", 1))).toEqual([]);
    expect(toRemove(nightsUntil("2024-02-29", 7))).toEqual([]);
  });
});

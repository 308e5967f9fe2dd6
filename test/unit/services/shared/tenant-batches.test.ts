// Group commit: everything is written once, in order, together with what came meanwhile, and nobody pays for a neighbour.
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { TenantBatches } from "../../../../services/shared/tenant-batches.ts";

/** Writes that end when they are told to, and the batches they were given. */
function manual() {
  const written: [number, readonly number[]][] = [];
  const ends: (() => void)[] = [];
  const batches = new TenantBatches<number, string>(async (tenantId, items) => {
    written.push([tenantId, items]);
    await new Promise<void>((resolve) => ends.push(resolve));
    if (items.includes(13)) throw new Error("refused");
    if (items.includes(14)) throw new Error("Connection terminated unexpectedly");
    return items.map((item) => `${tenantId}:${item}`);
  });
  /** The first statement that is under way ends, and what follows from that has happened. */
  const end = async () => {
    await turn();
    ends.shift()?.();
    await turn();
    await turn();
  };
  return { batches, written, end };
}

describe("batches", () => {
  it("what comes in one turn goes together, what comes meanwhile goes together, in order", async () => {
    const { batches, written, end } = manual();
    const answers = [1, 2].map((item) => batches.add(7, item));
    await turn();
    expect(written).toEqual([[7, [1, 2]]]);
    answers.push(...[3, 4, 5].map((item) => batches.add(7, item)));
    await end();
    expect(written).toEqual([
      [7, [1, 2]],
      [7, [3, 4, 5]],
    ]);
    await end();
    expect(await Promise.all(answers)).toEqual(["7:1", "7:2", "7:3", "7:4", "7:5"]);
  });

  it("nobody joins a statement that is under way", async () => {
    const { batches, written, end } = manual();
    const first = batches.add(7, 1);
    await turn();
    const second = batches.add(7, 2);
    await end();
    await expect(first).resolves.toBe("7:1");
    expect(written).toHaveLength(2);
    await end();
    await expect(second).resolves.toBe("7:2");
  });

  it("tenants do not wait for each other", async () => {
    const { batches, written, end } = manual();
    const both = [batches.add(1, 1), batches.add(2, 2)];
    await turn();
    expect(written).toEqual([
      [1, [1]],
      [2, [2]],
    ]);
    await end();
    await end();
    expect(await Promise.all(both)).toEqual(["1:1", "2:2"]);
  });

  it("one that is refused fails alone", async () => {
    const { batches, end } = manual();
    const answers = [1, 12, 13, 15].map((item) => batches.add(7, item));
    const settled = Promise.allSettled(answers);
    for (let i = 0; i < 6; i++) await end();
    expect((await settled).map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
  });

  it("where the database is away all fail at once, and nobody behind them waits for that", async () => {
    const { batches, written, end } = manual();
    const answers = [1, 14, 15].map((item) => batches.add(7, item));
    const settled = Promise.allSettled(answers);
    await end();
    expect((await settled).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(written).toEqual([[7, [1, 14, 15]]]);
  });

  it("one that may wait some turns goes with what they bring, and when a turn brings nothing", async () => {
    const written: (readonly number[])[] = [];
    const write = async (_tenantId: number, items: readonly number[]) => {
      written.push(items);
      return items;
    };
    const batches = new TenantBatches<number, number>(write, { turnsMax: 4 });
    const answers = [batches.add(7, 0)];
    for (let item = 1; item < 3; item++) {
      await turn();
      answers.push(batches.add(7, item));
    }
    await Promise.all(answers);
    const endless: Promise<number>[] = [];
    for (let item = 3; item < 12; item++) {
      endless.push(batches.add(7, item));
      await turn();
    }
    await Promise.all(endless);
    expect(written[0]).toEqual([0, 1, 2]);
    expect(written.length).toBeGreaterThan(2);
    expect(written.flat()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("a statement holds a hundred at most", async () => {
    const { batches, written, end } = manual();
    const all = Promise.all(Array.from({ length: 250 }, (_, item) => batches.add(7, 1_000 + item)));
    for (let i = 0; i < 5; i++) await end();
    await all;
    expect(written.map(([, items]) => items.length)).toEqual([100, 100, 50]);
  });
});

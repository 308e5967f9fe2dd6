// Reading sessions for many requests at once: what is shared, and that nobody is told what was true before they asked.
import { expect, it } from "@jest/globals";
import { type LiveSession, SessionReader } from "../../../../services/auth/session-reader.ts";
import type { Database } from "../../../../services/shared/database/database.ts";

interface Reading {
  ids: string[];
  answer(rows: Partial<LiveSession>[]): void;
  fail(error: Error): void;
}

/** A database whose answers come when the test says so. */
function heldDatabase(): { database: Database; next: () => Promise<Reading>; count: () => number } {
  const readings: Reading[] = [];
  const waiting: ((reading: Reading) => void)[] = [];
  let taken = 0;
  const read = (_scope: unknown, { values }: { values: [string[]] }) =>
    new Promise((resolve, reject) => {
      const reading = { ids: values[0], answer: resolve, fail: reject };
      readings.push(reading);
      waiting.shift()?.(reading);
    });
  return {
    // The reader uses this one method.
    database: { read } as unknown as Database,
    next: () => {
      const reading = readings[taken++];
      return reading === undefined
        ? new Promise((resolve) => waiting.push(resolve))
        : Promise.resolve(reading);
    },
    count: () => readings.length,
  };
}

it("requests of one turn share a reading", async () => {
  const { database, next, count } = heldDatabase();
  const reader = new SessionReader(database);
  const asked = Promise.all([reader.read("a"), reader.read("b"), reader.read("a")]);
  const reading = await next();
  expect(reading.ids).toEqual(["a", "b"]);
  reading.answer([{ id: "a", user_id: 1 }]);
  expect(await asked).toEqual([{ id: "a", user_id: 1 }, undefined, { id: "a", user_id: 1 }]);
  expect(count()).toBe(1);
});

it("a request joins no reading that began before it: it is told what is true after it asked", async () => {
  const { database, next } = heldDatabase();
  const reader = new SessionReader(database);
  const before = reader.read("a");
  const first = await next();
  // The session ends, and then somebody asks.
  const after = reader.read("a");
  first.answer([{ id: "a", user_id: 1 }]);
  expect(await before).toEqual({ id: "a", user_id: 1 });
  const second = await next();
  expect(second.ids).toEqual(["a"]);
  second.answer([]);
  expect(await after).toBeUndefined();
});

it("a reading that fails fails for those who waited for it, and for nobody after them", async () => {
  const { database, next } = heldDatabase();
  const reader = new SessionReader(database);
  const before = Promise.allSettled([reader.read("a"), reader.read("b")]);
  (await next()).fail(new Error("away"));
  expect((await before).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const after = reader.read("a");
  (await next()).answer([{ id: "a" }]);
  expect(await after).toEqual({ id: "a" });
});

it("two hundred at most are read by one statement; the others come with the next", async () => {
  const { database, next } = heldDatabase();
  const reader = new SessionReader(database);
  const asked = Promise.all(Array.from({ length: 250 }, (_, n) => reader.read(`s${n}`)));
  for (const length of [200, 50]) {
    const reading = await next();
    expect(reading.ids).toHaveLength(length);
    reading.answer(reading.ids.map((id) => ({ id })));
  }
  expect((await asked).map((session) => session?.id)).toEqual(Array.from({ length: 250 }, (_, n) => `s${n}`));
});

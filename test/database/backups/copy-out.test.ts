// COPY as a stream of large chunks: what comes is what the server sent, whatever the sizes of the rows, who reads slowly holds
// the server back, and who stops reading, or meets an error, leaves nothing behind.
import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { buffer } from "node:stream/consumers";
import { Bulk } from "../../../services/shared/database/bulk.ts";
import { copyChunkBytes } from "../../../services/shared/database/copy-out.ts";
import { startDatabase, type TestDatabase } from "../../support/service.ts";

const never = new AbortController().signal;
let database: TestDatabase;
let bulk: Bulk;

beforeAll(async () => {
  database = await startDatabase();
  bulk = await Bulk.open(database.url, never);
  await bulk.query(`create table many as select n as id, decode(repeat(md5(n::text), 20), 'hex') as body
    from generate_series(1, 20000) n`);
});
afterAll(async () => {
  await bulk.close();
  await database.stop();
});

/** Of a row that COPY (binary) writes: the number of fields, the length and the bytes of one. */
const rowBytes = (body: number) => 2 + 4 + body;
const frameBytes = 19 + 2;

describe("what COPY sends", () => {
  it("comes whole, in chunks of one size but the last", async () => {
    const copy = bulk.copyOut("(select body from many order by id)");
    const sizes: number[] = [];
    const sum = createHash("sha256");
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      sizes.push(chunk.length);
      sum.update(chunk);
    }
    expect(sizes.slice(0, -1).every((size) => size === copyChunkBytes)).toBe(true);
    expect(sizes.length).toBeGreaterThan(5);
    expect(sizes.reduce((a, b) => a + b)).toBe(frameBytes + 20_000 * rowBytes(320));
    expect(copy.rowCount).toBe(20_000);
    const again = await buffer(bulk.copyOut("(select body from many order by id)"));
    expect(createHash("sha256").update(again).digest("hex")).toBe(sum.digest("hex"));
  });
  it.each([0, 1, copyChunkBytes - frameBytes - 6, copyChunkBytes, 3 * copyChunkBytes + 7])(
    "comes whole with a row of %i bytes",
    async (bytes) => {
      const copy = bulk.copyOut(`(select convert_to(repeat('x', ${bytes}), 'utf8'))`);
      const all = await buffer(copy);
      expect(all.length).toBe(frameBytes + rowBytes(bytes));
      expect(all.subarray(0, 11).toString("latin1")).toBe("PGCOPY\n\xff\r\n\0");
      expect(all.subarray(25, 25 + bytes).every((byte) => byte === 0x78)).toBe(true);
      expect(copy.rowCount).toBe(1);
    },
  );
  it("of no rows is a head and an end, and the next statement of the connection is answered", async () => {
    expect((await buffer(bulk.copyOut("(select id from many where false)"))).length).toBe(frameBytes);
    expect(await bulk.query("select 1 as one")).toEqual([{ one: 1 }]);
  });
});

describe("who reads", () => {
  it("slowly holds the server back: no more waits in memory than some chunks", async () => {
    const copy = bulk.copyOut("(select repeat('y', 1000)::text from generate_series(1, 100000))");
    let read = 0;
    let waitingMax = 0;
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      read += chunk.length;
      for (let n = 0; n < 20; n++) await turn();
      waitingMax = Math.max(waitingMax, copy.readableLength);
    }
    expect(read).toBe(frameBytes + 100_000 * rowBytes(1000));
    expect(waitingMax).toBeLessThanOrEqual(4 * copyChunkBytes);
  });
  it("rests, and so does the server, until it goes on", async () => {
    const copy = bulk.copyOut("(select repeat('h', 1000)::text from generate_series(1, 50000))");
    let read = 0;
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      read += chunk.length;
      copy.hold();
      const waiting = copy.readableLength;
      // As another connection's statements are answered meanwhile, what the server sends could be read as well.
      const elsewhere = await Bulk.open(database.url, never);
      await elsewhere.query("select 4 as four");
      await elsewhere.close();
      expect(copy.readableLength).toBe(waiting);
      copy.release();
    }
    expect(read).toBe(frameBytes + 50_000 * rowBytes(1000));
    copy.hold();
    expect(await bulk.query("select 5 as five")).toEqual([{ five: 5 }]);
  });
  it("no further, while it rests, leaves a connection that goes on", async () => {
    const copy = bulk.copyOut("(select repeat('z', 1000)::text from generate_series(1, 50000))");
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      expect(chunk.length).toBe(copyChunkBytes);
      copy.hold();
      break;
    }
    copy.release();
    expect(await bulk.query("select 6 as six")).toEqual([{ six: 6 }]);
  });
  it("no further leaves a connection that goes on", async () => {
    const copy = bulk.copyOut("(select repeat('z', 1000)::text from generate_series(1, 50000))");
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      expect(chunk.length).toBe(copyChunkBytes);
      break;
    }
    expect(copy.destroyed).toBe(true);
    expect(await bulk.query("select 2 as two")).toEqual([{ two: 2 }]);
  });
  it("meets the statement's error, also in the middle, and the connection goes on", async () => {
    const copy = bulk.copyOut("(select repeat('e', 1000), 1 / (3000 - n) from generate_series(1, 5000) n)");
    await expect(buffer(copy)).rejects.toMatchObject({ code: "22012" });
    expect(await bulk.query("select 3 as three")).toEqual([{ three: 3 }]);
  });
  it("meets the end of the connection", async () => {
    const ending = new AbortController();
    const other = await Bulk.open(database.url, ending.signal);
    const copy = other.copyOut("(select repeat('w', 1000)::text from generate_series(1, 50000))");
    const reading = (async () => {
      for await (const chunk of copy as AsyncIterable<Buffer>) if (chunk.length > 0) ending.abort();
    })();
    await expect(reading).rejects.toThrow(/Connection terminated|aborted|closed/i);
    await other.close();
  });
});

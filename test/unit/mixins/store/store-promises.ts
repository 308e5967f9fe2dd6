// What every store promises, as tests that an adapter runs with its own store: the same for a folder and for S3.
import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type { Store } from "../../../../mixins/store/store.ts";
import { eventually } from "../../../support/service.ts";

export interface StoreUnderTest {
  store: Store;
  stop(): Promise<void>;
}

const never = () => new AbortController().signal;
export const keysOf = async (store: Store, prefix: string) => {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys.sort();
};

const mebibyte = 1_048_576;

/** Of the given size, in chunks, and never as a whole. */
function bytesOf(size: number): { body: Readable; sha256: () => string } {
  const hash = createHash("sha256");
  function* chunks() {
    for (let left = size; left > 0; ) {
      const chunk = randomBytes(Math.min(left, 100_003));
      left -= chunk.length;
      hash.update(chunk);
      yield chunk;
    }
  }
  return { body: Readable.from(chunks(), { objectMode: false }), sha256: () => hash.digest("hex") };
}

async function sha256Of(body: Readable): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of body) hash.update(chunk);
  return hash.digest("hex");
}

export function keepsThePromises(open: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest;
  let store: Store;
  beforeAll(async () => {
    under = await open();
    ({ store } = under);
  });
  afterAll(() => under?.stop());

  // None at all, around the least size that S3 takes for a part and around the size of ours, and many parts.
  it.each([
    0,
    1,
    5 * mebibyte - 1,
    5 * mebibyte,
    8 * mebibyte - 1,
    8 * mebibyte,
    8 * mebibyte + 1,
    64 * mebibyte + 1,
  ])("keeps %d bytes as they are", async (size) => {
    const { body, sha256 } = bytesOf(size);
    const key = `whole/${size}/data`;
    expect(await store.put(key, body, never())).toEqual({ bytes: size });
    expect((await store.stat(key))?.bytes).toBe(size);
    expect(await sha256Of(await store.get(key, never()))).toBe(sha256());
  });

  it("takes chunks of every size, larger than a part as well", async () => {
    const chunks = [1, 20 * mebibyte, 0, 3, 9 * mebibyte].map((size) => randomBytes(size));
    const { bytes } = await store.put("chunks/data", Readable.from(chunks, { objectMode: true }), never());
    expect(bytes).toBe(29 * mebibyte + 4);
    const expected = createHash("sha256").update(Buffer.concat(chunks)).digest("hex");
    expect(await sha256Of(await store.get("chunks/data", never()))).toBe(expected);
  });

  it("replaces an object whole", async () => {
    for (const text of ["first", "second one"]) {
      await store.put("replaced/data", Readable.from([Buffer.from(text)]), never());
      expect(String(await buffer(await store.get("replaced/data", never())))).toBe(text);
    }
  });

  it("writes once what nobody else has written, and leaves what is there as it is", async () => {
    expect(await store.putOnce("once/data", Buffer.from("first"), never())).toBe(true);
    expect(await store.putOnce("once/data", Buffer.from("second"), never())).toBe(false);
    expect(String(await buffer(await store.get("once/data", never())))).toBe("first");
    await store.remove("once/data");
    expect(await store.putOnce("once/data", Buffer.from("third"), never())).toBe(true);
    expect(await keysOf(store, "once/")).toEqual(["once/data"]);
    expect(await store.removeLeftovers(new Date())).toBe(0);
  });

  it("lets one of many write at the same moment, whole", async () => {
    const texts = Array.from({ length: 8 }, (_, nth) => `writer ${nth}`);
    const wrote = await Promise.all(
      texts.map((text) => store.putOnce("once/race", Buffer.from(text), never())),
    );
    expect(wrote.filter(Boolean)).toHaveLength(1);
    expect(String(await buffer(await store.get("once/race", never())))).toBe(texts[wrote.indexOf(true)]);
  });

  it("shows nothing of an object whose stream fails, and keeps the one that was there", async () => {
    await store.put("failing/old", Readable.from([Buffer.from("old")]), never());
    for (const key of ["failing/old", "failing/new"]) {
      const body = Readable.from(
        (async function* () {
          yield randomBytes(6 * mebibyte);
          throw new Error("the source broke");
        })(),
        { objectMode: false },
      );
      await expect(store.put(key, body, never())).rejects.toThrow("the source broke");
    }
    expect(await keysOf(store, "failing/")).toEqual(["failing/old"]);
    expect(String(await buffer(await store.get("failing/old", never())))).toBe("old");
  });

  it("shows nothing of an object that was aborted half way, and ends its source", async () => {
    const abort = new AbortController();
    const reason = new Error("no longer wanted");
    let given = 0;
    const body = new Readable({
      read() {
        given++;
        if (given === 20) abort.abort(reason);
        this.push(randomBytes(mebibyte));
      },
    });
    await expect(store.put("aborted/data", body, abort.signal)).rejects.toBe(reason);
    expect(body.destroyed).toBe(true);
    expect(await store.stat("aborted/data")).toBeUndefined();
    expect(await keysOf(store, "aborted/")).toEqual([]);
    expect(await store.removeLeftovers(new Date())).toBe(0);
  });

  it("ends a source that has fallen silent when the put is aborted", async () => {
    const abort = new AbortController();
    const body = new Readable({ read() {} });
    body.push(randomBytes(9 * mebibyte));
    const put = store.put("silent/data", body, abort.signal);
    await eventually(async () => body.readableLength === 0);
    abort.abort(new Error("waited long enough"));
    await expect(put).rejects.toThrow("waited long enough");
    expect(await store.stat("silent/data")).toBeUndefined();
  });

  it("does not begin what was aborted before", async () => {
    const body = bytesOf(10).body;
    const reason = new Error("never wanted");
    await expect(store.put("before/data", body, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(body.destroyed).toBe(true);
    expect(await store.stat("before/data")).toBeUndefined();
  });

  it("gives two writers of one key each its own object, and keeps one of them whole", async () => {
    // Each has sent its first part before either ends.
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const bodyOf = (own: 0 | 1) =>
      Readable.from(
        (async function* () {
          yield Buffer.alloc(17 * mebibyte, own + 1);
          begun[own].resolve();
          await begun[own === 0 ? 1 : 0].promise;
          yield Buffer.alloc(mebibyte + own, own + 1);
        })(),
        { objectMode: true },
      );
    const written = await Promise.all([
      store.put("both/data", bodyOf(0), never()),
      store.put("both/data", bodyOf(1), never()),
    ]);
    expect(written).toEqual([{ bytes: 18 * mebibyte }, { bytes: 18 * mebibyte + 1 }]);
    const kept = await buffer(await store.get("both/data", never()));
    expect([1, 2]).toContain(kept[0]);
    expect(kept.equals(Buffer.alloc(18 * mebibyte + (kept[0] === 1 ? 0 : 1), kept[0]))).toBe(true);
    expect(await keysOf(store, "both/")).toEqual(["both/data"]);
    expect(await store.removeLeftovers(new Date())).toBe(0);
  });

  it("says of what is not there that it is not there", async () => {
    expect(await store.stat("nowhere/data")).toBeUndefined();
    await expect(store.get("nowhere/data", never())).rejects.toMatchObject({ fault: "not_found" });
    await expect(store.remove("nowhere/data")).resolves.toMatchObject({ bytesStay: false });
  });

  it("lists by the beginning of keys, and what is removed no more", async () => {
    for (const key of ["listed/a/data", "listed/a/manifest", "listed/ab/data", "other/a"])
      await store.put(key, Readable.from([Buffer.from(key)]), never());
    expect(await keysOf(store, "listed/a")).toEqual(["listed/a/data", "listed/a/manifest", "listed/ab/data"]);
    expect(await keysOf(store, "listed/a/")).toEqual(["listed/a/data", "listed/a/manifest"]);
    await store.remove("listed/a/data");
    expect(await keysOf(store, "listed/a/")).toEqual(["listed/a/manifest"]);
    for await (const { key, bytes, modifiedAt } of store.list("other/")) {
      expect([key, bytes]).toEqual(["other/a", 7]);
      expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(600_000);
    }
  });

  it("ends a reading that is aborted", async () => {
    const { body } = bytesOf(8 * mebibyte);
    await store.put("read/data", body, never());
    const abort = new AbortController();
    const reading = await store.get("read/data", abort.signal);
    const read = (async () => {
      for await (const _chunk of reading) abort.abort();
    })();
    await expect(read).rejects.toThrow();
  });

  it("gives a reader its time, and lets one go that has seen enough", async () => {
    const { body, sha256 } = bytesOf(8 * mebibyte);
    await store.put("read/slowly", body, never());
    const hash = createHash("sha256");
    for await (const chunk of await store.get("read/slowly", never())) {
      hash.update(chunk);
      await new Promise(setImmediate);
    }
    expect(hash.digest("hex")).toBe(sha256());
    const left = await store.get("read/slowly", never());
    for await (const _chunk of left) break;
    expect(left.destroyed).toBe(true);
    expect((await store.stat("read/slowly"))?.bytes).toBe(8 * mebibyte);
  });

  it.each([
    "",
    "/",
    "..",
    "../x",
    "a/../b",
    "a//b",
    "/a",
    "a/",
    ".hidden",
    "a/.b",
    "a\\b",
    "a\0b",
    "a/%2e%2e/b",
    "a b",
    "a\r\nx-amz-acl: public-read",
    "a?uploads",
    "é",
    "\u202egnp.exe",
    "a".repeat(600),
    "a/".repeat(511) + "ab",
    "a/b/c/d/e/f/g/h/i",
  ])("takes %j for no key", async (key) => {
    await expect(store.put(key, Readable.from([]), never())).rejects.toThrow("not a key");
    await expect(store.get(key, never())).rejects.toThrow("not a key");
    await expect(store.stat(key)).rejects.toThrow("not a key");
    await expect(store.remove(key)).rejects.toThrow("not a key");
  });

  it("proves that it can be written to and read, and leaves nothing of that", async () => {
    const before = await keysOf(store, "");
    await store.probe();
    expect(await keysOf(store, "")).toEqual(before);
  });
}

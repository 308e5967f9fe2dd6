// An archive as it is stored: its chunks open in their order, all of them, and as nothing but what they are.
import { createSecretKey, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { ArchiveDamaged, opening, sealing } from "../../../../../services/shared/archive/sealed-stream.ts";

const chunkBytes = 256 * 1024;
const [headBytes, tagBytes] = [44, 16];
const key = createSecretKey(randomBytes(32));
const name = "archive|7|bk_1";

const seal = (plain: Buffer, by = key, as = name) => buffer(Readable.from([plain]).pipe(sealing(by, as)));
/** @param sizeMax of the pieces in which it comes */
async function open(sealed: Buffer, by = key, as = name, sizeMax = sealed.length): Promise<Buffer> {
  const pieces = (function* () {
    for (let at = 0; at < sealed.length; at += sizeMax) yield sealed.subarray(at, at + sizeMax);
  })();
  const opened = opening(by, as);
  Readable.from(pieces).pipe(opened);
  return buffer(opened);
}

describe("what is sealed", () => {
  it.each([0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes, 3 * chunkBytes + 7])(
    "of %i bytes opens to the same, however it comes",
    async (length) => {
      const plain = randomBytes(length);
      const sealed = await seal(plain);
      const chunks = Math.max(1, Math.ceil(length / chunkBytes));
      expect(sealed.length).toBe(headBytes + length + chunks * tagBytes);
      for (const size of [sealed.length, 65_536, 1_001])
        expect((await open(sealed, key, name, size)).equals(plain)).toBe(true);
    },
  );

  it("is never the same under two keys or two names", async () => {
    const plain = Buffer.alloc(100);
    const others = [
      await seal(plain, createSecretKey(randomBytes(32))),
      await seal(plain, key, "archive|8|bk_1"),
    ];
    for (const other of others) expect((await seal(plain)).equals(other)).toBe(false);
  });
});

describe("refused is an archive", () => {
  /** Three whole chunks, which look alike, and a short one. */
  let head: Buffer;
  let chunks: Buffer[];
  beforeAll(async () => {
    const sealed = await seal(Buffer.alloc(3 * chunkBytes + 7, 0x61));
    head = sealed.subarray(0, headBytes);
    chunks = [0, 1, 2, 3].map((nth) =>
      sealed.subarray(
        headBytes + nth * (chunkBytes + tagBytes),
        headBytes + (nth + 1) * (chunkBytes + tagBytes),
      ),
    );
  });
  const put = (...order: number[]) =>
    Buffer.concat([head, ...order.map((nth) => chunks[nth] ?? Buffer.alloc(0))]);
  const damaged = (sealed: Buffer, by = key, as = name) =>
    expect(open(sealed, by, as)).rejects.toBeInstanceOf(ArchiveDamaged);

  it("the chunks in their order are none of these", async () => {
    expect((await open(put(0, 1, 2, 3))).length).toBe(3 * chunkBytes + 7);
  });
  it.each([
    ["with two chunks exchanged", [1, 0, 2, 3]],
    ["with a chunk repeated", [0, 1, 1, 2, 3]],
    ["without its first chunk", [1, 2, 3]],
    ["without one in the middle", [0, 2, 3]],
    ["without its last chunk", [0, 1, 2]],
    ["of one chunk of several", [0]],
    ["with its end repeated", [0, 1, 2, 3, 3]],
    ["of a head alone", []],
  ])("%s", (_how, order) => damaged(put(...order)));

  it.each([0, 1, headBytes - 1, headBytes + tagBytes - 1, -1, -tagBytes])("cut at %i", async (at) => {
    await damaged(put(0, 1, 2, 3).subarray(0, at));
  });
  it("with a byte behind its end", () => damaged(Buffer.concat([put(0, 1, 2, 3), Buffer.alloc(1)])));
  it("under another name", () => damaged(put(0, 1, 2, 3), key, "archive|8|bk_1"));
  it("under another name that is written into its head", async () => {
    const other = (await seal(Buffer.alloc(0), key, "archive|8|bk_1")).subarray(0, headBytes);
    await damaged(Buffer.concat([other, ...chunks]), key, "archive|8|bk_1");
  });
  it("under another key", () => damaged(put(0, 1, 2, 3), createSecretKey(randomBytes(32))));
  it("with any byte of its head changed", async () => {
    for (let at = 0; at < headBytes; at++) {
      const changed = put(0, 1, 2, 3);
      changed[at] = (changed[at] ?? 0) ^ 1;
      await damaged(changed);
    }
  });

  it("and nothing of a chunk is told before it is proved", async () => {
    const changed = put(0, 1, 2, 3);
    const at = headBytes + chunkBytes + tagBytes + 5;
    changed[at] = (changed[at] ?? 0) ^ 1;
    const told: Buffer[] = [];
    const opened = opening(key, name);
    Readable.from([changed]).pipe(opened);
    const read = (async () => {
      for await (const bytes of opened) told.push(bytes);
    })();
    await expect(read).rejects.toBeInstanceOf(ArchiveDamaged);
    expect(Buffer.concat(told).length).toBeLessThanOrEqual(chunkBytes);
  });
});

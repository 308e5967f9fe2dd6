// The parts of a multipart upload: the size of each, and the memory in which it is collected before it is sent.
import { createHash, type Hash } from "node:crypto";
import { StoreError } from "./store.ts";

const mebibyte = 1_048_576;
/**
 * S3 allows 10,000 parts: 2,000 each of 8, 16, 32, 64 and 128 MiB hold 520 GB. Small ones first, because a part is kept in
 * memory.
 */
const partsPerSize = 2_000;
const partSizes = [8, 16, 32, 64, 128].map((each) => each * mebibyte);
/** @param number of the part, from 1 @returns its size in bytes; undefined beyond the last part */
export const partSizeOf = (number: number) => partSizes[Math.floor((number - 1) / partsPerSize)];

/** The bytes of one part, hashed as they arrive: hashing 128 MiB at once would block the event loop. */
export class Part {
  readonly number: number;
  readonly #room: Buffer;
  readonly #md5 = createHash("md5");
  readonly #sha256: Hash | undefined;
  #length = 0;

  /** @param spare memory of a part that was sent, to be used again */
  constructor(number: number, hashesBodies: boolean, spare: Buffer | undefined) {
    const size = partSizeOf(number);
    if (size === undefined) throw new StoreError("full", "An object of the store has 520 GB at most.");
    this.number = number;
    this.#room = spare?.length === size ? spare : Buffer.allocUnsafeSlow(size);
    this.#sha256 = hashesBodies ? createHash("sha256") : undefined;
  }

  /** @returns how many of the bytes fitted into the part */
  take(chunk: Uint8Array): number {
    const end = Math.min(chunk.length, this.#room.length - this.#length);
    const taken = chunk.subarray(0, end);
    this.#room.set(taken, this.#length);
    this.#md5.update(taken);
    this.#sha256?.update(taken);
    this.#length += end;
    return end;
  }

  get length() {
    return this.#length;
  }
  get isFull() {
    return this.#length === this.#room.length;
  }
  get memory() {
    return this.#room;
  }

  /** May be called once: it finishes the hashes. */
  sealed() {
    return {
      bytes: this.#room.subarray(0, this.#length),
      headers: { "content-length": this.#length, "content-md5": this.#md5.digest("base64") },
      sha256: this.#sha256?.digest("hex") ?? "",
    };
  }
}

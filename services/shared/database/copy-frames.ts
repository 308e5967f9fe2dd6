// What the server sends during a COPY, taken apart without making an object of each row: the bytes of rows go to whoever
// takes them, all other messages to the driver as they came. (The driver's own parser joins what a read has cut, at twice its
// length, and makes a message of every row: more garbage than there are bytes.)
import type { Readable } from "node:stream";

/** PostgreSQL's message formats: https://www.postgresql.org/docs/18/protocol-message-formats.html */
const copyData = 0x64;
const headBytes = 5;
/** A length counts itself. */
const lengthBytes = 4;

export interface RowBytes {
  /** They are only lent: the same memory is read into again. */
  (bytes: Uint8Array, from: number, to: number): void;
}

type Listener = (bytes: Buffer) => void;

export class CopyFrames {
  readonly #stream: Readable;
  readonly #rows: RowBytes;
  readonly #driver: Listener[];
  readonly #own: Listener;
  readonly #head = Buffer.alloc(headBytes);
  #headFilled = 0;
  #left = 0;
  #isRow = false;
  #ended = false;

  /** Between two statements, when nothing of a message is on its way. @param stream the connection's */
  constructor(stream: Readable, rows: RowBytes) {
    this.#stream = stream;
    this.#rows = rows;
    // The listeners for "data" take bytes.
    this.#driver = stream.listeners("data") as Listener[];
    this.#own = (bytes) => this.#take(bytes);
    stream.removeAllListeners("data");
    stream.on("data", this.#own);
  }

  /** From here on everything is the driver's again. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream.off("data", this.#own);
    for (const listener of this.#driver) this.#stream.on("data", listener);
  }

  #take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      // The driver may end it by what it was just given: the rest of these bytes is its own.
      if (this.#ended) return this.#pass(bytes, at, bytes.length);
      if (this.#left === 0) {
        at = this.#readHead(bytes, at);
        continue;
      }
      const to = Math.min(bytes.length, at + this.#left);
      this.#left -= to - at;
      if (this.#isRow) this.#rows(bytes, at, to);
      else this.#pass(bytes, at, to);
      at = to;
    }
  }

  /** @returns where to go on */
  #readHead(bytes: Buffer, at: number): number {
    const taken = Math.min(headBytes - this.#headFilled, bytes.length - at);
    for (let n = 0; n < taken; n++) this.#head[this.#headFilled++] = bytes[at + n] ?? 0;
    if (this.#headFilled < headBytes) return at + taken;
    this.#headFilled = 0;
    this.#isRow = this.#head[0] === copyData;
    this.#left = this.#head.readUInt32BE(1) - lengthBytes;
    if (this.#left < 0) {
      this.#stream.destroy(new Error("the server sent a message without a length"));
      this.#left = 0;
    } else if (!this.#isRow) this.#pass(this.#head, 0, headBytes);
    return at + taken;
  }

  /** A copy: the driver keeps what is not yet a whole message. */
  #pass(bytes: Buffer, from: number, to: number): void {
    const own = Buffer.from(bytes.subarray(from, to));
    for (const listener of this.#driver) listener.call(this.#stream, own);
  }
}

// Splits the server's messages during a COPY without making an object per row: the bytes of rows go to a function, all other
// messages go to the driver unchanged. (The driver's own parser copies incomplete reads at twice their length and makes a message
// of every row: more garbage than data.)
import type { Readable } from "node:stream";

/** PostgreSQL's message formats: https://www.postgresql.org/docs/18/protocol-message-formats.html */
const copyData = 0x64;
const headBytes = 5;
/** The length in a message includes itself. */
const lengthBytes = 4;

export interface RowBytes {
  /** The bytes are valid only during the call: the same memory is used for the next read. */
  (bytes: Uint8Array, from: number, to: number): void;
}

type Listener = (bytes: Buffer) => void;

/** Takes over the "data" events of a connection until `end` is called. */
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

  /** Must be called between two statements, when no message is incomplete. @param stream of the connection */
  constructor(stream: Readable, rows: RowBytes) {
    this.#stream = stream;
    this.#rows = rows;
    // All listeners for "data" take bytes.
    this.#driver = stream.listeners("data") as Listener[];
    this.#own = (bytes) => this.#take(bytes);
    stream.removeAllListeners("data");
    stream.on("data", this.#own);
  }

  /** Gives the stream back to the driver. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream.off("data", this.#own);
    for (const listener of this.#driver) this.#stream.on("data", listener);
  }

  #take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      // The driver may have ended this with the bytes it was just given: the rest belongs to the driver.
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

  /** @returns the offset after the bytes that were read */
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

  /** Copies the bytes, because the driver keeps an incomplete message. */
  #pass(bytes: Buffer, from: number, to: number): void {
    const own = Buffer.from(bytes.subarray(from, to));
    for (const listener of this.#driver) listener.call(this.#stream, own);
  }
}

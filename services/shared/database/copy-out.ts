// COPY … TO STDOUT as a stream of large chunks. The server sends one message per row. Here a row costs one copy of its bytes into
// a chunk. (pg-copy-streams lists, slices and joins each row, at 20 µs of CPU per row.)
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Connection } from "pg";
import { shareReadBuffer } from "./bulk-socket.ts";
import { CopyFrames } from "./copy-frames.ts";

/** The size of a chunk; the last one of a COPY is smaller. A row may span several chunks. */
export const copyChunkBytes = 1024 * 1024;

/** Parts of `pg`'s connection that are missing in its types: the socket, and the message that sends a statement. */
interface Wire {
  stream: Socket;
  query(text: string): void;
}

/** The number of chunks in flight at a time. */
const spareMax = 4;

/** Passed to `client.query()`, which calls the methods that begin with `handle` (its interface for custom statements). */
export class CopyOut extends Readable {
  /** Known after the stream has ended. */
  rowCount = 0;
  readonly #text: string;
  #wire: Wire | undefined;
  #frames: CopyFrames | undefined;
  #chunk: Buffer = Buffer.alloc(0);
  #filled = 0;
  #paused = false;
  #held = false;
  readonly #spare: ArrayBufferLike[] = [];

  constructor(text: string) {
    // One chunk is read while the next one is filled.
    super({ highWaterMark: 2 * copyChunkBytes });
    this.#text = text;
  }

  submit(connection: Connection): void {
    // Sent as a simple query, as pg's own COPY is.
    this.#wire = connection as unknown as Wire;
    const { stream } = this.#wire;
    this.#frames = new CopyFrames(stream, (bytes, from, to) => this.#take(bytes, from, to));
    shareReadBuffer(stream, true);
    this.#wire.query(this.#text);
  }

  /** The bytes lie in the socket's read buffer, so they are copied before this returns. */
  #take(bytes: Uint8Array, start: number, end: number): void {
    if (this.destroyed) return;
    for (let from = start; from < end; ) {
      if (this.#filled === this.#chunk.length) this.#next();
      const to = Math.min(end, from + this.#chunk.length - this.#filled);
      this.#chunk.set(bytes.subarray(from, to), this.#filled);
      this.#filled += to - from;
      from = to;
    }
  }

  /** Gives the connection back to the driver. */
  #releaseStream(): void {
    this.#frames?.end();
    if (this.#wire !== undefined) shareReadBuffer(this.#wire.stream, false);
    this.release();
    this.#resume();
    this.#wire = undefined;
  }

  /** Reads nothing for a while: the server stands still as soon as what lies between is full. Nothing when all has come. */
  hold(): void {
    if (this.#wire === undefined) return;
    this.#held = true;
    this.#wire.stream.pause();
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    if (!this.#paused) this.#wire?.stream.resume();
  }

  #next(): void {
    this.#flush();
    const spare = this.#spare.pop();
    this.#chunk = spare === undefined ? Buffer.allocUnsafeSlow(copyChunkBytes) : Buffer.from(spare);
  }

  /** Called by a reader that has finished with a chunk and shares it with nobody: its memory is used again. */
  giveBack(chunk: Buffer): void {
    const isWhole = chunk.length === copyChunkBytes && chunk.buffer.byteLength === copyChunkBytes;
    if (isWhole && this.#spare.length < spareMax) this.#spare.push(chunk.buffer);
  }

  #flush(): void {
    const chunk = this.#chunk.subarray(0, this.#filled);
    this.#chunk = Buffer.alloc(0);
    this.#filled = 0;
    if (chunk.length > 0 && !this.push(chunk)) this.#pause();
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.rowCount = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? 0);
  }

  handleReadyForQuery(): void {
    this.#flush();
    // A slow reader of the remaining chunks must not block the next statement of the connection.
    this.#releaseStream();
    this.push(null);
  }

  handleError(error: Error): void {
    this.#releaseStream();
    this.destroy(error);
  }

  override _read(): void {
    this.#resume();
  }

  /** The rest of the server's data is read and discarded, so that the connection can be used again or closed. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#chunk = Buffer.alloc(0);
    this.release();
    this.#resume();
    done(error);
  }

  #pause(): void {
    this.#paused = true;
    this.#wire?.stream.pause();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (!this.#held) this.#wire?.stream.resume();
  }
}

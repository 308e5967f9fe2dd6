// COPY … TO STDOUT as a stream of large chunks. The server sends one message per row; here a row costs one copy of its bytes
// into a chunk that is being filled. (pg-copy-streams lists, slices and joins each row, 20 us of CPU for each.)
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { Connection } from "pg";
import { lend } from "./bulk-socket.ts";
import { CopyFrames } from "./copy-frames.ts";

/** Of one chunk; the last one of a COPY is smaller. A row may go over several. */
export const copyChunkBytes = 1024 * 1024;

/** What `pg` has of its connection beyond what its types say: the socket, and the message that sends a statement. */
interface Wire {
  stream: Socket;
  query(text: string): void;
}

/** As many as are on their way at a time. */
const spareMax = 4;

/** Given to `client.query()`, which calls what begins with `handle` (its interface for statements of one's own). */
export class CopyOut extends Readable {
  /** Known when the stream has ended. */
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
    // One chunk is taken while the next is filled.
    super({ highWaterMark: 2 * copyChunkBytes });
    this.#text = text;
  }

  submit(connection: Connection): void {
    // The statement is a simple one: pg's own COPY goes the same way.
    this.#wire = connection as unknown as Wire;
    const { stream } = this.#wire;
    this.#frames = new CopyFrames(stream, (bytes, from, to) => this.#take(bytes, from, to));
    lend(stream, true);
    this.#wire.query(this.#text);
  }

  /** The bytes lie where the socket reads into: they are copied before this returns. */
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

  /** The connection is the driver's again. */
  #letGo(): void {
    this.#frames?.end();
    if (this.#wire !== undefined) lend(this.#wire.stream, false);
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

  /** For who has done with a chunk, and knows that nobody else looks at it: its memory is filled again. */
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
    // Whoever still reads what is here must not keep the connection from its next statement.
    this.#letGo();
    this.push(null);
  }

  handleError(error: Error): void {
    this.#letGo();
    this.destroy(error);
  }

  override _read(): void {
    this.#resume();
  }

  /** What the server still sends is taken and thrown away, so that the connection can go on, or end. */
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

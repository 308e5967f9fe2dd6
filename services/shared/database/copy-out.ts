// COPY … TO STDOUT as a stream of large chunks. The server sends one message per row; here a row costs one copy of its bytes
// into a chunk that is being filled. (pg-copy-streams lists, slices and joins each row, 20 us of CPU for each.)
import { Readable } from "node:stream";
import type { Connection } from "pg";

/** Of one chunk; the last one of a COPY is smaller. A row may go over several. */
export const copyChunkBytes = 1024 * 1024;

interface CopyData {
  chunk: Uint8Array;
}
/** What `pg` has of its connection beyond what its types say: the socket, and the message that sends a statement. */
interface Wire {
  stream: { pause(): unknown; resume(): unknown };
  query(text: string): void;
}

/** Given to `client.query()`, which calls what begins with `handle` (its interface for statements of one's own). */
export class CopyOut extends Readable {
  /** Known when the stream has ended. */
  rowCount = 0;
  readonly #text: string;
  #wire: Wire | undefined;
  #chunk = Buffer.alloc(0);
  #filled = 0;
  #paused = false;

  constructor(text: string) {
    // One chunk is taken while the next is filled.
    super({ highWaterMark: 2 * copyChunkBytes });
    this.#text = text;
  }

  submit(connection: Connection): void {
    // The statement is a simple one: pg's own COPY goes the same way.
    this.#wire = connection as unknown as Wire;
    this.#wire.query(this.#text);
  }

  /** The message's bytes are pg's own buffer, which it fills anew: they are copied before this returns. */
  handleCopyData({ chunk }: CopyData): void {
    if (this.destroyed) return;
    for (let from = 0; from < chunk.length; ) {
      if (this.#filled === this.#chunk.length) this.#next();
      const bytes = Math.min(chunk.length - from, this.#chunk.length - this.#filled);
      this.#chunk.set(bytes === chunk.length ? chunk : chunk.subarray(from, from + bytes), this.#filled);
      this.#filled += bytes;
      from += bytes;
    }
  }

  #next(): void {
    this.#flush();
    this.#chunk = Buffer.allocUnsafeSlow(copyChunkBytes);
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
    this.#resume();
    this.push(null);
  }

  handleError(error: Error): void {
    this.#resume();
    this.destroy(error);
  }

  override _read(): void {
    this.#resume();
  }

  /** What the server still sends is taken and thrown away, so that the connection can go on, or end. */
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#chunk = Buffer.alloc(0);
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
    this.#wire?.stream.resume();
  }
}

// Streams the bytes of an S3 object to a reader, at the reader's pace.
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { asS3Error } from "./s3-errors.ts";
import { StoreError } from "./store.ts";

/** @param idleMsMax how long the store may take for the next bytes; the reader's time is not limited */
export function readAnswer(answer: IncomingMessage, signal: AbortSignal, idleMsMax: number): Readable {
  const expected = Number(answer.headers["content-length"] ?? Number.NaN);
  const reading = Readable.from(chunksOf(answer, expected, signal, idleMsMax), { objectMode: false });
  // A generator that waits for bytes does not notice that its reader is gone.
  reading.once("close", () => answer.destroy());
  return reading;
}

async function* chunksOf(
  answer: IncomingMessage,
  expected: number,
  signal: AbortSignal,
  idleMsMax: number,
): AsyncGenerator<Buffer> {
  const late = () => void answer.destroy(new StoreError("unavailable", "The store stopped in an object."));
  let clock = setTimeout(late, idleMsMax);
  let bytes = 0;
  try {
    for await (const chunk of answer) {
      clearTimeout(clock);
      bytes += chunk.length;
      yield chunk;
      clock = setTimeout(late, idleMsMax);
    }
    if (bytes < expected) throw new StoreError("unavailable", "The store ended in an object.");
  } catch (error) {
    signal.throwIfAborted();
    throw asS3Error(error, answer.statusCode);
  } finally {
    clearTimeout(clock);
  }
}

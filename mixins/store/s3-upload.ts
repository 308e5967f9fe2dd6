// Writing a stream of unknown length to S3. What fits into one part is one PUT (an upload without a part is refused by
// stores, so also what is empty); anything larger is a multipart upload, which becomes the object only at its end. The
// minio client's own upload is not used: of an unknown length it makes parts of 560 MB, goes on with an unfinished upload
// of another writer of the same key, and leaves its parts behind when it fails.
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { onAbort } from "../outbound/on-abort.ts";
import type { S3Connection } from "./s3-connection.ts";
import { abortUpload, beginUpload, headersOf, putPart, retentionHeaders } from "./s3-objects.ts";
import { Part } from "./s3-part.ts";

/** Names one put, so that it is known again when its last answer was lost. */
export const putHeader = "x-amz-meta-put";

/** What is being written: nothing yet, one multipart upload with at most one part on its way, or its end. */
class Sender {
  readonly #connection: S3Connection;
  readonly #name: string;
  readonly #onFailure: (error: Error) => void;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #put = randomUUID();
  readonly #etags: { part: number; etag: string }[] = [];
  #uploadId: string | undefined;
  #sending: Promise<Buffer | undefined> = Promise.resolve(undefined);
  #bytes = 0;

  /** @param onFailure told at once when a part on its way fails, as the body may be slow to bring the next one */
  constructor(
    connection: S3Connection,
    name: string,
    signal: AbortSignal,
    onFailure: (error: Error) => void,
  ) {
    this.#connection = connection;
    this.#name = name;
    this.#onFailure = onFailure;
    this.#signal = AbortSignal.any([signal, this.#stop.signal]);
  }

  first(): Part {
    return new Part(1, this.#connection.hashesBodies, undefined);
  }

  /** Waits for the part before, starts to send this one, and gives room for the next. */
  async send(part: Part): Promise<Part> {
    const spare = await this.#sending;
    this.#uploadId ??= await beginUpload(this.#connection, this.#name, this.#objectHeaders(), this.#signal);
    this.#sending = this.#sendPart(part, this.#uploadId);
    this.#sending.catch(this.#onFailure);
    return new Part(part.number + 1, this.#connection.hashesBodies, spare);
  }

  /** @param last what came after the last full part @returns the bytes of the object, which is there now */
  async finish(last: Part): Promise<number> {
    if (this.#uploadId === undefined) await this.#sendPart(last, undefined);
    else {
      await this.#sending;
      if (last.length > 0) await this.#sendPart(last, this.#uploadId);
      await this.#complete(this.#uploadId);
    }
    return this.#bytes;
  }

  /** What cannot be aborted now is a leftover. */
  async abort(): Promise<void> {
    this.#stop.abort();
    await this.#sending.catch(() => undefined);
    const id = this.#uploadId;
    if (id !== undefined) await abortUpload(this.#connection, this.#name, id).catch(() => undefined);
  }

  async #sendPart(part: Part, uploadId: string | undefined): Promise<Buffer> {
    // A part of an upload has the headers that the upload was begun with.
    const headers = uploadId === undefined ? this.#objectHeaders() : {};
    const etag = await putPart(this.#connection, this.#name, part, uploadId, headers, this.#signal);
    this.#etags.push({ part: part.number, etag });
    this.#bytes += part.length;
    return part.memory;
  }

  /** Not ended by the signal: half way nobody could say whether the object is there. */
  async #complete(uploadId: string): Promise<void> {
    const { bucket, bounds } = this.#connection;
    try {
      await this.#connection.ask(
        (client) => client.completeMultipartUpload(bucket, this.#name, uploadId, this.#etags),
        { answerMsMax: bounds.finishMsMax, idleMsMax: bounds.finishMsMax },
      );
    } catch (error) {
      // Where the answer of the first try was lost, the second one finds no upload any more.
      if (!(await this.#isThere())) throw error;
    }
  }

  async #isThere(): Promise<boolean> {
    try {
      const headers = await headersOf(this.#connection, this.#name);
      return headers[putHeader] === this.#put;
    } catch {
      return false;
    }
  }

  #objectHeaders(): Record<string, string> {
    return {
      "content-type": "application/octet-stream",
      [putHeader]: this.#put,
      ...retentionHeaders(this.#connection.retention),
    };
  }
}

/** Reads the body no faster than the store takes it. @returns the object's bytes @throws as `Store.put` */
export async function uploadStream(
  connection: S3Connection,
  name: string,
  body: Readable,
  signal: AbortSignal,
): Promise<number> {
  // Between two readings nobody listens, and an error that nobody hears would end the process.
  body.on("error", () => {});
  const forget = onAbort(signal, () => body.destroy());
  const sender = new Sender(connection, name, signal, (error) => body.destroy(error));
  try {
    signal.throwIfAborted();
    let part = sender.first();
    for await (const chunk of body) {
      let rest: Uint8Array = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
      while (rest.length > 0) {
        rest = rest.subarray(part.take(rest));
        if (part.isFull) part = await sender.send(part);
      }
    }
    signal.throwIfAborted();
    return await sender.finish(part);
  } catch (error) {
    body.destroy();
    await sender.abort();
    signal.throwIfAborted();
    throw error;
  } finally {
    forget();
  }
}

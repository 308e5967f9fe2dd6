// Writes a stream of unknown length to S3. Content that fits into one part is one PUT, also empty content (stores reject an
// upload without a part). Anything larger is a multipart upload, which becomes an object only when it is completed. The minio
// client's own upload is not used: for an unknown length it makes parts of 560 MB, continues an unfinished upload of another
// writer of the same key, and leaves its parts behind when it fails.
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { onAbort } from "../outbound/on-abort.ts";
import type { S3Connection } from "./s3-connection.ts";
import { abortUpload, beginUpload, headersOf, putPart, retentionHeaders } from "./s3-objects.ts";
import { Part } from "./s3-part.ts";

/** A header that names one put: if the last answer is lost, it shows that the object was written by this put. */
export const putHeader = "x-amz-meta-put";

/** The state of one write: nothing sent yet, or a multipart upload with at most one part in flight. */
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

  /** @param onFailure called as soon as a part fails, because the body may be slow to produce the next one */
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

  /** Waits for the previous part, starts to send this one, and returns an empty one for the next bytes. */
  async send(part: Part): Promise<Part> {
    const spare = await this.#sending;
    this.#uploadId ??= await beginUpload(this.#connection, this.#name, this.#objectHeaders(), this.#signal);
    this.#sending = this.#sendPart(part, this.#uploadId);
    this.#sending.catch(this.#onFailure);
    return new Part(part.number + 1, this.#connection.hashesBodies, spare);
  }

  /** @param last the bytes after the last full part; may be empty @returns the size of the object, which now exists */
  async finish(last: Part): Promise<number> {
    if (this.#uploadId === undefined) await this.#sendPart(last, undefined);
    else {
      await this.#sending;
      if (last.length > 0) await this.#sendPart(last, this.#uploadId);
      await this.#complete(this.#uploadId);
    }
    return this.#bytes;
  }

  /** Aborts the upload. If that fails, the upload stays as a leftover. */
  async abort(): Promise<void> {
    this.#stop.abort();
    await this.#sending.catch(() => undefined);
    const id = this.#uploadId;
    if (id !== undefined) await abortUpload(this.#connection, this.#name, id).catch(() => undefined);
  }

  async #sendPart(part: Part, uploadId: string | undefined): Promise<Buffer> {
    // In a multipart upload the headers were already sent when it was started.
    const headers = uploadId === undefined ? this.#objectHeaders() : {};
    const etag = await putPart(this.#connection, this.#name, part, uploadId, headers, this.#signal);
    this.#etags.push({ part: part.number, etag });
    this.#bytes += part.length;
    return part.memory;
  }

  /** The signal does not abort this request: half way through nobody could say whether the object exists. */
  async #complete(uploadId: string): Promise<void> {
    const { bucket, bounds } = this.#connection;
    try {
      await this.#connection.ask(
        (client) => client.completeMultipartUpload(bucket, this.#name, uploadId, this.#etags),
        { answerMsMax: bounds.finishMsMax, idleMsMax: bounds.finishMsMax },
      );
    } catch (error) {
      // If the answer to the first attempt was lost, the second one finds no upload any more.
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

/** Reads the body no faster than the store accepts it. @returns the object's size in bytes @throws as `Store.put` */
export async function uploadStream(
  connection: S3Connection,
  name: string,
  body: Readable,
  signal: AbortSignal,
): Promise<number> {
  // Between two reads there is no listener, and an unhandled "error" event would end the process.
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

// The store as a bucket of an S3 server. An object becomes visible by one request, completely or not at all. If the bucket keeps
// versions, a removal hides the object, and its bytes stay as an older version until the bucket's own rules delete them. The
// service needs no right to delete versions, so a thief of its credentials cannot destroy anything.
import type { Readable } from "node:stream";
import { abortLeftovers, eachLeftover } from "./s3-leftovers.ts";
import { S3Connection, type S3Options } from "./s3-connection.ts";
import { deleteObject, headersOf, unlessAbsent } from "./s3-objects.ts";
import { putOnce } from "./s3-once.ts";
import { probe } from "./s3-probe.ts";
import { readAnswer } from "./s3-reading.ts";
import { uploadStream } from "./s3-upload.ts";
import { assertKey, isKey, type Removal, type Store, StoreError, type StoredObject } from "./store.ts";

const pageMax = 1_000;
/** Ten million objects: with more pages the store must be repeating itself. */
const pagesMax = 10_000;

/** A store in one bucket. The bucket is created at the first write if the credentials allow it. */
export class S3Store implements Store {
  readonly #connection: S3Connection;

  constructor(options: S3Options) {
    this.#connection = new S3Connection(options);
  }

  async put(key: string, body: Readable, signal: AbortSignal): Promise<{ bytes: number }> {
    return { bytes: await uploadStream(this.#connection, this.#nameOf(key), body, signal) };
  }

  putOnce(key: string, bytes: Buffer, signal: AbortSignal): Promise<boolean> {
    return putOnce(this.#connection, this.#nameOf(key), bytes, signal);
  }

  async get(key: string, signal: AbortSignal): Promise<Readable> {
    const request = { method: "GET", bucketName: this.#connection.bucket, objectName: this.#nameOf(key) };
    const answer = await this.#connection.ask((client) => client.makeRequestAsync(request), {
      signal,
      streamed: true,
    });
    return readAnswer(answer, signal, this.#connection.bounds.idleMsMax);
  }

  async stat(key: string): Promise<{ bytes: number; modifiedAt: Date } | undefined> {
    const name = this.#nameOf(key);
    const headers = await unlessAbsent(headersOf(this.#connection, name));
    if (headers === undefined) return undefined;
    return {
      bytes: Number(headers["content-length"]),
      modifiedAt: new Date(headers["last-modified"] ?? Number.NaN),
    };
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const { bucket } = this.#connection;
    const beginning = this.#connection.nameOf(prefix);
    let token = "";
    for (let page = 0; page < pagesMax; page++) {
      const found = await unlessAbsent(
        this.#connection.ask((client) =>
          client.listObjectsV2Query(bucket, beginning, token, "", pageMax, ""),
        ),
      );
      for (const each of found?.objects ?? []) {
        if (each.name === undefined || each.lastModified === undefined) continue;
        const key = this.#connection.keyOf(each.name);
        // Other programs may keep objects in the bucket too.
        if (key !== undefined && isKey(key)) yield { key, bytes: each.size, modifiedAt: each.lastModified };
      }
      if (found?.isTruncated !== true) return;
      if (found.nextContinuationToken === token) break;
      token = found.nextContinuationToken;
    }
    throw new StoreError("unavailable", "The store's list does not end.");
  }

  async remove(key: string): Promise<Removal> {
    const name = this.#nameOf(key);
    const headers = await unlessAbsent(headersOf(this.#connection, name));
    // In a bucket with versions another removal would only add another delete marker.
    if (headers === undefined) return { bytesStay: false, lockedUntil: undefined };
    const bytesStay = (await unlessAbsent(deleteObject(this.#connection, name))) ?? false;
    const until = headers["x-amz-object-lock-retain-until-date"];
    return {
      bytesStay,
      lockedUntil: bytesStay && typeof until === "string" ? new Date(until) : undefined,
    };
  }

  countLeftovers(before: Date): Promise<number> {
    return eachLeftover(this.#connection, before, async () => true);
  }

  removeLeftovers(before: Date): Promise<number> {
    return abortLeftovers(this.#connection, before);
  }

  probe(): Promise<void> {
    return probe(this.#connection);
  }

  /** Closes the idle connections; the store may still be used. */
  close(): void {
    this.#connection.close();
  }

  #nameOf(key: string): string {
    assertKey(key);
    return this.#connection.nameOf(key);
  }
}

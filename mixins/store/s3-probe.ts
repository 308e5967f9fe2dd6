// Checks for health whether the store accepts and returns bytes now. One part of an upload is written, and the upload is aborted.
// So nothing remains where objects are locked or kept as versions.
import { randomUUID } from "node:crypto";
import type { S3Connection } from "./s3-connection.ts";
import { abortUpload, beginUpload, putPart, retentionHeaders, unlessAbsent } from "./s3-objects.ts";
import { Part } from "./s3-part.ts";
import { StoreError } from "./store.ts";

const probeMsMax = 2_000;

/** @throws StoreError */
export async function probe(connection: S3Connection): Promise<void> {
  const signal = AbortSignal.timeout(probeMsMax);
  const name = connection.nameOf(`probe/${randomUUID()}`);
  try {
    await write(connection, name, signal);
    // Reading may be forbidden separately. A missing object is "not found", or "denied" to a caller that may not read.
    const request = { method: "GET", bucketName: connection.bucket, objectName: name };
    await unlessAbsent(connection.ask((client) => client.makeRequestAsyncOmit(request), { signal }));
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new StoreError("unavailable", "The store does not answer.", { cause: error });
  }
}

async function write(connection: S3Connection, name: string, signal: AbortSignal): Promise<void> {
  // With the retention of real objects, so that a bucket without object lock is detected at once.
  const headers = retentionHeaders(connection.retention);
  const uploadId = await beginUpload(connection, name, headers, signal);
  try {
    const part = new Part(1, connection.hashesBodies, undefined);
    part.take(Buffer.from("probe"));
    await putPart(connection, name, part, uploadId, {}, signal);
  } finally {
    await abortUpload(connection, name, uploadId, signal);
  }
}

// Single requests about one object or one upload. The connection repeats and bounds each of them.
import type { IncomingHttpHeaders } from "node:http";
import { finished } from "node:stream/promises";
import type { S3Connection, S3Options } from "./s3-connection.ts";
import type { Part } from "./s3-part.ts";
import { StoreError } from "./store.ts";

type Headers = Readonly<Record<string, string>>;

const dayMs = 86_400_000;

/** @throws StoreError `not_found`, also for an object hidden by a delete marker */
export async function headersOf(connection: S3Connection, name: string): Promise<IncomingHttpHeaders> {
  const { headers } = await connection.ask((client) =>
    client.makeRequestAsyncOmit({ method: "HEAD", bucketName: connection.bucket, objectName: name }),
  );
  return headers;
}

/** @returns whether the store keeps the bytes as an older version, hidden by a delete marker */
export async function deleteObject(connection: S3Connection, name: string): Promise<boolean> {
  const { headers } = await connection.ask((client) =>
    client.makeRequestAsyncOmit(
      { method: "DELETE", bucketName: connection.bucket, objectName: name },
      "",
      [200, 204],
    ),
  );
  return headers["x-amz-delete-marker"] === "true";
}

/** Starts a multipart upload, and creates the bucket if it is missing. @returns the upload id */
export function beginUpload(
  connection: S3Connection,
  name: string,
  headers: Headers,
  signal: AbortSignal,
): Promise<string> {
  return connection.askToWrite(
    (client) => client.initiateNewMultipartUpload(connection.bucket, name, { ...headers }),
    { signal },
  );
}

/**
 * @param part as a part of the upload, or as the whole object when `uploadId` is undefined
 * @returns its ETag
 */
export async function putPart(
  connection: S3Connection,
  name: string,
  part: Part,
  uploadId: string | undefined,
  headers: Headers,
  signal: AbortSignal,
): Promise<string> {
  const sealed = part.sealed();
  const query = uploadId === undefined ? "" : `partNumber=${part.number}&uploadId=${escaped(uploadId)}`;
  const where = { bucketName: connection.bucket, objectName: name, query };
  const answer = await connection.askToWrite(
    async (client) => {
      const request = { method: "PUT", ...where, headers: { ...headers, ...sealed.headers } };
      const answered = await client.makeRequestStreamAsync(request, sealed.bytes, sealed.sha256, [200], "");
      await finished(answered.resume());
      return answered;
    },
    { signal, answerMsMax: connection.bounds.partMsMax },
  );
  return (answer.headers.etag ?? "").replaceAll('"', "");
}

/** Ends a multipart upload and deletes its parts. @throws StoreError `not_found` when it has ended already */
export function abortUpload(
  connection: S3Connection,
  name: string,
  uploadId: string,
  signal?: AbortSignal,
): Promise<void> {
  return connection.ask((client) => client.abortMultipartUpload(connection.bucket, name, escaped(uploadId)), {
    signal,
  });
}

/** The client puts upload ids into some of its queries without escaping them. */
const escaped = encodeURIComponent;

/** For callers to which a missing object is not an error. @returns undefined when it is missing */
export async function unlessAbsent<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof StoreError && error.fault === "not_found") return undefined;
    throw error;
  }
}

/**
 * With these headers nobody can delete the object's bytes before the date: in compliance mode without exception, in governance
 * mode almost.
 */
export function retentionHeaders(retention: S3Options["retention"]): Record<string, string> {
  if (retention === undefined) return {};
  return {
    "x-amz-object-lock-mode": retention.mode.toUpperCase(),
    "x-amz-object-lock-retain-until-date": new Date(Date.now() + retention.days * dayMs).toISOString(),
  };
}

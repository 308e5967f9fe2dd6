// Writes an object only if there is none: by a condition that the store itself checks.
import { randomUUID } from "node:crypto";
import type { S3Connection } from "./s3-connection.ts";
import { S3Error } from "./s3-errors.ts";
import { headersOf, putPart, retentionHeaders, unlessAbsent } from "./s3-objects.ts";
import { Part } from "./s3-part.ts";
import { putHeader } from "./s3-upload.ts";

/** @returns false when the object exists already @throws as `Store.put` */
export async function putOnce(
  connection: S3Connection,
  name: string,
  bytes: Buffer,
  signal: AbortSignal,
): Promise<boolean> {
  const put = randomUUID();
  const write = async (condition: Record<string, string>) => {
    const part = new Part(1, connection.hashesBodies, undefined);
    if (part.take(bytes) < bytes.length)
      throw new Error("an object that is written once must fit into one part");
    const headers = { [putHeader]: put, ...retentionHeaders(connection.retention), ...condition };
    await putPart(connection, name, part, undefined, headers, signal);
  };
  const thereAs = async () => (await unlessAbsent(headersOf(connection, name)))?.[putHeader];
  try {
    await write({ "if-none-match": "*" });
    return true;
  } catch (error) {
    if (!(error instanceof S3Error)) throw error;
    // The answer to an earlier attempt of ours may have been lost: then the object exists and is ours.
    if (error.code === "PreconditionFailed") return (await thereAs()) === put;
    if (error.code !== "NotImplemented") throw error;
  }
  if ((await unlessAbsent(headersOf(connection, name))) !== undefined) return false;
  await write({});
  return true;
}

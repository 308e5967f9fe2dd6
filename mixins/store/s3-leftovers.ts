// Abandoned uploads: of writers that died, or whose abort did not arrive. Their parts are on no list of objects, and use space
// until somebody aborts them.
import type { S3Connection } from "./s3-connection.ts";
import { abortUpload, unlessAbsent } from "./s3-objects.ts";

/** Pages of a thousand uploads each. The next run finds the rest. */
const pagesMax = 100;

/** Aborts abandoned uploads: those that have not advanced since `before`. @returns how many were aborted */
export function abortLeftovers(connection: S3Connection, before: Date): Promise<number> {
  return eachLeftover(
    connection,
    before,
    async (key, id) => (await unlessAbsent(abortUpload(connection, key, id).then(() => true))) === true,
  );
}

/**
 * @param before a large upload may have begun earlier: the age of its newest part says whether somebody still writes
 * @param take handles one abandoned upload; @returns whether it counts
 */
export async function eachLeftover(
  connection: S3Connection,
  before: Date,
  take: (key: string, uploadId: string) => Promise<boolean>,
): Promise<number> {
  const { bucket } = connection;
  let counted = 0;
  let marker = "";
  for (let page = 0; page < pagesMax; page++) {
    const beginning = connection.nameOf("");
    // There may be no bucket yet, and an upload may end at any moment.
    const found = await unlessAbsent(
      connection.ask((client) => client.listIncompleteUploadsQuery(bucket, beginning, marker, "", "")),
    );
    if (found === undefined) return counted;
    for (const { key, uploadId, initiated } of found.uploads) {
      if (initiated >= before) continue;
      const parts = await unlessAbsent(connection.ask((client) => client.partsOf(bucket, key, uploadId)));
      if (parts?.some(({ lastModified }) => lastModified && lastModified >= before)) continue;
      if (await take(key, uploadId)) counted++;
    }
    if (!found.isTruncated || found.nextKeyMarker === marker) return counted;
    marker = found.nextKeyMarker;
  }
  return counted;
}

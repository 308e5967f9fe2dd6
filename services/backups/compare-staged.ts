// Reads staged rows and compares them with the archive, byte for byte.
import { createHash } from "node:crypto";
import { type Bulk, quoted } from "../shared/database/bulk.ts";
import type { ArchivedTable, Contents } from "./archive/manifest.ts";
import { JobFailed } from "./job-failed.ts";
import type { Tell } from "./moving/moving.ts";

/** @returns the number of rows in all tables @throws JobFailed `not_as_written` */
export async function compareStaged(
  bulk: Bulk,
  { tables }: Contents,
  job: string,
  tell: Tell,
): Promise<number> {
  let rows = 0;
  for (const [at, table] of tables.entries()) {
    tell({ step: `comparing ${table.name}`, share: at / tables.length, rows });
    await compare(bulk, table, job);
    rows += table.rows;
  }
  return rows;
}

async function compare(
  bulk: Bulk,
  { name, columns, rows, sha256 }: ArchivedTable,
  job: string,
): Promise<void> {
  const list = columns.map((column) => quoted(column.name)).join(", ");
  // The job's id is a UUID created by this service; COPY accepts no parameters.
  const copy = bulk.copyOut(
    `(select ${list} from staging.${quoted(name)} where staged_for = '${job}'::uuid order by staged_for, staged_as)`,
  );
  const hash = createHash("sha256");
  for await (const chunk of copy) hash.update(chunk);
  if (copy.rowCount !== rows || hash.digest("hex") !== sha256) throw new JobFailed("not_as_written");
}

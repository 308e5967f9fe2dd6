// The end of what was laid out in the schema staging.
import { type Bulk, quoted } from "../shared/database/bulk.ts";
import { tablesOf } from "./table-decisions.ts";

export async function clearStaged(bulk: Bulk, job: string): Promise<void> {
  for (const table of tablesOf("full"))
    await bulk.write(`delete from staging.${quoted(table)} where staged_for = $1::uuid`, [job]);
}

/** What killed jobs left, by every job that is not under way. @returns how many rows */
export async function sweepStaged(bulk: Bulk, underWay: readonly string[]): Promise<number> {
  let rows = 0;
  for (const table of tablesOf("full"))
    rows += await bulk.write(`delete from staging.${quoted(table)} where staged_for <> all($1::uuid[])`, [
      underWay,
    ]);
  return rows;
}

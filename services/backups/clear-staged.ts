// What is laid out in the schema staging: counted, and its end.
import { type Bulk, quoted } from "../shared/database/bulk.ts";
import { restoredTables } from "./restore-conditions.ts";
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

/** How many rows of a tenant's archive are laid out, by table. */
export async function countStaged(bulk: Bulk, job: string): Promise<Record<string, number>> {
  const counts = restoredTables.map(
    (table) =>
      `(select count(*)::integer from staging.${quoted(table)} where staged_for = $1::uuid) as ${quoted(table)}`,
  );
  const [counted] = await bulk.query<Record<string, number>>(`select ${counts.join(", ")}`, [job]);
  return counted ?? {};
}

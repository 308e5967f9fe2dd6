// Counts and deletes the rows in the schema staging.
import { type Bulk, quoted } from "../shared/database/bulk.ts";
import { restoredTables } from "./restore-conditions.ts";
import { tablesOf } from "./table-decisions.ts";

/** Deletes the rows of a job. */
export async function clearStaged(bulk: Bulk, job: string): Promise<void> {
  for (const table of tablesOf("full"))
    await bulk.write(`delete from staging.${quoted(table)} where staged_for = $1::uuid`, [job]);
}

/**
 * Deletes the rows of all jobs that are not running, for example of killed ones.
 * @returns the number of rows
 */
export async function sweepStaged(bulk: Bulk, underWay: readonly string[]): Promise<number> {
  let rows = 0;
  for (const table of tablesOf("full"))
    rows += await bulk.write(`delete from staging.${quoted(table)} where staged_for <> all($1::uuid[])`, [
      underWay,
    ]);
  return rows;
}

export interface StagedRows {
  rows: number;
  /** Of their ids; null where there are none. */
  highest: number | null;
}

/** Counts the rows of a tenant's staged archive, by table, with one scan each. */
export async function countStaged(bulk: Bulk, job: string): Promise<Record<string, StagedRows>> {
  const counts = restoredTables.map(
    (table) =>
      `select '${table}' as name, count(*)::integer as rows, max(${table === "preferences" ? "user_id" : "id"}) as highest
       from staging.${quoted(table)} where staged_for = $1::uuid`,
  );
  const counted = await bulk.query<StagedRows & { name: string }>(counts.join("\nunion all\n"), [job]);
  return Object.fromEntries(counted.map(({ name, rows, highest }) => [name, { rows, highest }]));
}

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

export interface StagedRows {
  rows: number;
  /** Of their ids; null where there are none. */
  highest: number | null;
}

/** What of a tenant's archive is laid out, by table: each is gone through once. */
export async function countStaged(bulk: Bulk, job: string): Promise<Record<string, StagedRows>> {
  const counts = restoredTables.map(
    (table) =>
      `select '${table}' as name, count(*)::integer as rows, max(${table === "preferences" ? "user_id" : "id"}) as highest
       from staging.${quoted(table)} where staged_for = $1::uuid`,
  );
  const counted = await bulk.query<StagedRows & { name: string }>(counts.join("\nunion all\n"), [job]);
  return Object.fromEntries(counted.map(({ name, rows, highest }) => [name, { rows, highest }]));
}

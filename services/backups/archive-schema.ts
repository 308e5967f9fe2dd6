// Support for archives of earlier versions. Each migration after the first archives defines here how staged
// rows of the schema before it are converted; a test requires an entry for each. Staged rows have the columns
// of the archive; the other columns are null.
import { migrations } from "../../migrations/all.ts";
import { JobFailed } from "./job-failed.ts";

/** The first version that created archives. */
export const firstSchema = "0017-backups";

/**
 * SQL on the tables of the schema staging, where $1 is the job; empty when no archived table was changed. All
 * steps after the archive's version are executed in order. A step does not change the number of rows.
 */
export const schemaSteps: Readonly<Record<string, readonly string[]>> = {
  [firstSchema]: [],
  // Only functions and triggers.
  "0018-hardening": [],
  // Only tables that are not archived.
  "0021-self-healing": [],
  // A column of a table that is not archived.
  "0022-healing": [],
  // A table that is not archived.
  "0023-schedule-occurrences": [],
  // Only triggers.
  "0024-bulk-writes": [],
  // Columns that are not archived.
  "0027-traces": [],
  // A table that is not archived.
  "0028-compatibility": [],
};

const names: readonly string[] = migrations.map(({ name }) => name);

/**
 * The steps from the archive's schema to the current one.
 * @param later migrations of the database that this program does not know but is compatible with
 * (schema-age.ts): the columns that they added to archived tables are staged, but not changed by this
 * program's restore
 * @throws JobFailed `schema_newer` or `schema_unknown`
 */
export function stepsSince(schema: string, later: readonly string[] = []): string[] {
  if (later.includes(schema)) return [];
  const at = names.indexOf(schema);
  if (at < 0) throw new JobFailed(schema > (names.at(-1) ?? "") ? "schema_newer" : "schema_unknown");
  if (at < names.indexOf(firstSchema)) throw new JobFailed("schema_unknown");
  return names.slice(at + 1).flatMap((name) => {
    const steps = schemaSteps[name];
    if (steps === undefined) throw new JobFailed("schema_unknown");
    return steps;
  });
}

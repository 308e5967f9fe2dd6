// Archives of earlier versions. Each migration that came after the first archives says here what has to be done to rows that
// were laid out as they were before it; a test demands a word about each. What is laid out has the columns of the archive,
// the others are null.
import { migrations } from "../../migrations/all.ts";
import { JobFailed } from "./job-failed.ts";

/** The first version that made archives. */
export const firstSchema = "0017-backups";

/**
 * SQL on the tables of the schema staging, $1 being the job; none where the archive's tables did not change.
 * Its rows are brought up to date by all that came after the version they are of, in order. There are as many afterwards.
 */
export const schemaSteps: Readonly<Record<string, readonly string[]>> = {
  [firstSchema]: [],
  // Functions and triggers alone.
  "0018-hardening": [],
  // Tables that no archive holds.
  "0021-self-healing": [],
  // A column of a table that no archive holds.
  "0022-healing": [],
  // A table that no archive holds.
  "0023-schedule-occurrences": [],
  // Triggers alone.
  "0024-bulk-writes": [],
  // Columns that no archive holds.
  "0027-traces": [],
  // A table that no archive holds.
  "0028-compatibility": [],
};

const names: readonly string[] = migrations.map(({ name }) => name);

/**
 * @param later migrations of the database that this program does not know, beside which it works (schema-age.ts): what they
 * added to an archive's tables is laid out with the rest, and is left as it is by this program's restore
 * @throws JobFailed when the archive is of a version that this one cannot read
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

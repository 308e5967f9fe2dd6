// Archives of earlier versions. Each migration that came after the first archives says here what has to be done to rows that
// were laid out as they were before it; a test demands a word about each. What is laid out has the columns of the archive,
// the others are null.
import { migrations } from "../../migrations/all.ts";
import type { Bulk } from "../shared/database/bulk.ts";
import type { Contents } from "./archive/manifest.ts";
import { JobFailed } from "./job-failed.ts";

/** The first version that made archives. */
export const firstSchema = "0017-backups";

/**
 * SQL on the tables of the schema staging, $1 being the job; none where the archive's tables did not change.
 * Its rows are brought up to date by all that came after the version they are of, in order.
 */
export const schemaSteps: Readonly<Record<string, readonly string[]>> = {
  [firstSchema]: [],
  // Functions and triggers alone.
  "0018-hardening": [],
  // Tables that no archive holds.
  "0021-self-healing": [],
  // A table that no archive holds.
  "0023-schedule-occurrences": [],
  // Triggers alone.
  "0024-bulk-writes": [],
};

const names: readonly string[] = migrations.map(({ name }) => name);

/** @throws JobFailed when the archive is of a version that this one cannot read */
export function stepsSince(schema: string): string[] {
  const at = names.indexOf(schema);
  if (at < 0) throw new JobFailed(schema > (names.at(-1) ?? "") ? "schema_newer" : "schema_unknown");
  if (at < names.indexOf(firstSchema)) throw new JobFailed("schema_unknown");
  return names.slice(at + 1).flatMap((name) => {
    const steps = schemaSteps[name];
    if (steps === undefined) throw new JobFailed("schema_unknown");
    return steps;
  });
}

/** Every column of the archive must have its place, and its type, where it is laid out. */
export async function assertFits(bulk: Bulk, { tables, schema_version: schema }: Contents): Promise<void> {
  stepsSince(schema);
  const places = await bulk.query<{ place: string }>(
    `select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) as place
     from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'staging'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`,
  );
  const known = new Set(places.map(({ place }) => place));
  for (const table of tables)
    for (const { name, type } of table.columns)
      if (!known.has(`${table.name}.${name} ${type}`)) throw new JobFailed("schema_unknown");
}

/** Brings what was laid out up to date. */
export async function bringUpToDate(
  bulk: Bulk,
  { schema_version: schema }: Contents,
  job: string,
): Promise<void> {
  for (const step of stepsSince(schema)) await bulk.query(step, [job]);
}

// Compares the columns of an archive with the staging tables.
import type { Bulk } from "../shared/database/bulk.ts";
import type { Contents } from "./archive/manifest.ts";
import { JobFailed } from "./job-failed.ts";

/**
 * @throws JobFailed `schema_unknown` unless each column of the archive exists in staging with the same type
 */
export async function assertColumnsFit(bulk: Bulk, { tables }: Contents): Promise<void> {
  const columns = await bulk.query<{ place: string }>(
    `select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) as place
     from pg_attribute a join pg_class c on c.oid = a.attrelid
     where c.relnamespace = 'staging'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`,
  );
  const known = new Set(columns.map(({ place }) => place));
  for (const table of tables)
    for (const { name, type } of table.columns)
      if (!known.has(`${table.name}.${name} ${type}`)) throw new JobFailed("schema_unknown");
}

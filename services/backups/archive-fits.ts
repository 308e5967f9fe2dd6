// An archive's rows against the tables in which they are laid out.
import type { Bulk } from "../shared/database/bulk.ts";
import type { Contents } from "./archive/manifest.ts";
import { JobFailed } from "./job-failed.ts";

/** Every column of the archive must have its place, and its type, where it is laid out. */
export async function assertFits(bulk: Bulk, { tables }: Contents): Promise<void> {
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

// The database's clock, which is one for all processes. What is compared with moments that it, or another process, has written
// goes by it: the clock of a single process may be set at any time, and nothing is deleted or refused for that.
import type { PlainChange } from "./change.ts";
import type { Database } from "./database.ts";
import { platform } from "./scope.ts";

const text = "select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms";

/** In ms since 1970. @throws as any read does: nothing is said to be old when nobody knows the time */
export async function databaseMs(database: Pick<Database, "readOne">): Promise<number> {
  const row = await database.readOne<{ ms: number }>(platform, { name: "clock", text, values: [] });
  if (row === undefined) throw new Error("the database did not tell the time");
  return row.ms;
}

/** For a change that writes down when it was. */
export async function changedAt(change: PlainChange): Promise<Date> {
  const { ms } = await change.one<{ ms: number }>(text);
  return new Date(ms);
}

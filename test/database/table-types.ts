// Writes the types of all tables from a migrated database, each column as the driver gives it to the services. Views are left
// out: PostgreSQL does not say which of their columns may be null.
import type { Client } from "pg";

/** What the pool's driver makes of PostgreSQL's types (MikroORM leaves times as text); `tables.test.ts` asks it for each. */
export const driverTypes = {
  bool: "boolean",
  bytea: "Buffer",
  int2: "number",
  int4: "number",
  float8: "number",
  // Beyond what a number holds exactly.
  int8: "string",
  numeric: "string",
  text: "string",
  varchar: "string",
  name: "string",
  uuid: "string",
  inet: "string",
  date: "string",
  timestamptz: "string",
  // Of any shape: a row says more by an intersection.
  json: "unknown",
  jsonb: "unknown",
} as const;

interface Column {
  table: string;
  name: string;
  type: string;
  is_array: boolean;
  nullable: boolean;
  /** Constraints of this column alone. */
  checks: string[];
}

const columnsText = `
  select c.relname as table, a.attname as name, coalesce(element.typname, t.typname)::text as type,
    element.typname is not null as is_array, not (a.attnotnull or t.typnotnull) as nullable,
    array(select pg_get_constraintdef(k.oid) from pg_constraint k
      where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum] order by k.conname) as checks
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  left join pg_type element on element.oid = t.typelem and t.typcategory = 'A'
  where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
  order by c.relname collate "C", a.attnum`;

/** @returns the whole file `services/shared/database/tables.ts` */
export async function tableTypes(client: Client): Promise<string> {
  const { rows } = await client.query<Column>(columnsText);
  const tables = [...Map.groupBy(rows, ({ table }) => table)];
  const members = tables.map(
    ([name, columns]) =>
      `  ${name}: {\n${columns.map((column) => `    ${column.name}: ${typeOf(column)};\n`).join("")}  };\n`,
  );
  return `// The columns of all tables after the last migration, as the driver gives them to the services. Written by \`npm run tables\`
// from a migrated database; a test compares it. Rows of statements are made of it (row.ts).

export interface Tables {
${members.join("")}}
`;
}

function typeOf({ table, name, type, is_array, nullable, checks }: Column): string {
  const known = new Map<string, string>(Object.entries(driverTypes)).get(type);
  if (known === undefined)
    throw new Error(`${table}.${name}: it is not said what the driver makes of ${type}`);
  const words = checks.map(wordsOf).find((found) => found !== undefined);
  const one = words?.map((word) => JSON.stringify(word)).join(" | ") ?? known;
  const all = is_array ? `${one.includes("|") ? `(${one})` : one}[]` : one;
  // "unknown" has null among its values.
  return nullable && all !== "unknown" ? `${all} | null` : all;
}

/**
 * Of a constraint that lists the column's values: `CHECK ((role = ANY (ARRAY['admin'::text, 'nurse'::text])))`.
 * @returns undefined for any other constraint
 */
function wordsOf(check: string): string[] | undefined {
  const [, list] = /^CHECK \(\(\w+ = ANY \(ARRAY\[((?:'[a-z_]+'::text(?:, )?)+)\]\)\)\)$/.exec(check) ?? [];
  return list === undefined ? undefined : [...list.matchAll(/'([a-z_]+)'/g)].map(([, word = ""]) => word);
}

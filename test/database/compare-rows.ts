// A row's type against what PostgreSQL says of the statement's columns.
import pg from "pg";
import type { DeclaredRow, Kind } from "./declared-rows.ts";

export interface DescribedColumn {
  name: string;
  /** pg_type.typname. */
  type: string;
  /** "users.id" where it is a column of a table as it stands there. */
  origin: string | undefined;
}

/** What the driver makes of PostgreSQL's types. Times are text for the pool, and dates for a connection of one's own. */
const kinds: Record<string, readonly Kind[]> = {
  bool: ["boolean"],
  bytea: ["Buffer"],
  char: ["string"],
  name: ["string"],
  int8: ["string"],
  int2: ["number"],
  int4: ["number"],
  oid: ["number"],
  float8: ["number"],
  text: ["string"],
  varchar: ["string"],
  numeric: ["string"],
  inet: ["string"],
  uuid: ["string"],
  regclass: ["string"],
  timestamp: ["string", "Date"],
  timestamptz: ["string", "Date"],
  date: ["string", "Date"],
  // Whatever was put in.
  json: ["any"],
  jsonb: ["any"],
};

/** @returns a sentence for each difference */
export function rowFaults(
  { site, isUnion, columns }: DeclaredRow,
  answered: readonly DescribedColumn[],
): string[] {
  const faults = columns.flatMap(({ name, kinds: declared, isOptional, origin }) => {
    const found = answered.find((column) => column.name === name);
    if (found === undefined) return isOptional ? [] : [`${name} is not answered`];
    const given = found.type.startsWith("_") ? (["array"] as const) : kinds[found.type];
    if (given === undefined) return [`${name}: it is not said what the driver makes of ${found.type}`];
    const isByHand = found.origin?.endsWith(`.${name}`) === true && origin === "hand";
    return [
      ...(fits(declared, given) ? [] : [`${name} is ${given.join(" or ")}, not ${declared.join(" | ")}`]),
      ...(isByHand && !isWider(declared) ? [`${name} is ${found.origin}, and typed by hand`] : []),
    ];
  });
  const names = new Set(columns.map(({ name }) => name));
  // Of several shapes only the columns that all have are known.
  const unknown = isUnion ? [] : answered.filter(({ name }) => !names.has(name));
  return [...faults, ...unknown.map(({ name }) => `${name} is answered, and not in the type`)].map(
    (fault) => `${site} ${fault}`,
  );
}

const fits = (declared: readonly Kind[], given: readonly Kind[]): boolean =>
  given.includes("any") || declared.includes("any") || declared.some((kind) => given.includes(kind));

/** More than the column of the table is: null of an outer join, a date for a connection of one's own. */
const isWider = (declared: readonly Kind[]): boolean =>
  declared.includes("null") || declared.includes("Date");

// The wire protocol's calls, which the driver's types leave out: only those used here.
interface Connection {
  parse(message: { text: string; name: string; types: readonly number[] }): void;
  describe(message: { type: "S"; name: string }): void;
  sync(): void;
}
interface RowDescription {
  fields: { name: string; dataTypeID: number; tableID: number; columnID: number }[];
}

/** Asks PostgreSQL what a statement would answer. It is planned, and never runs. */
export class Describer {
  readonly #client: pg.Client;
  readonly #columns: ReadonlyMap<string, string>;
  readonly #types: ReadonlyMap<number, string>;

  private constructor(
    client: pg.Client,
    columns: ReadonlyMap<string, string>,
    types: ReadonlyMap<number, string>,
  ) {
    this.#client = client;
    this.#columns = columns;
    this.#types = types;
  }

  static async of(client: pg.Client): Promise<Describer> {
    const columns = await client.query<{ place: string; name: string }>(
      `select c.oid || '.' || a.attnum as place, c.relname || '.' || a.attname as name
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace`,
    );
    const types = await client.query<{ oid: number; name: string }>(
      "select oid, typname::text as name from pg_type",
    );
    return new Describer(
      client,
      new Map(columns.rows.map(({ place, name }) => [place, name])),
      new Map(types.rows.map(({ oid, name }) => [oid, name])),
    );
  }

  /** @throws DatabaseError where PostgreSQL does not understand it */
  describe(text: string): Promise<DescribedColumn[]> {
    return new Promise((resolve, reject) => {
      let columns: DescribedColumn[] = [];
      const statement = {
        submit(connection: Connection) {
          connection.parse({ text, name: "", types: [] });
          connection.describe({ type: "S", name: "" });
          connection.sync();
        },
        handleRowDescription: ({ fields }: RowDescription) => {
          columns = fields.map(({ name, dataTypeID, tableID, columnID }) => ({
            name,
            type: this.#types.get(dataTypeID) ?? String(dataTypeID),
            origin: this.#columns.get(`${tableID}.${columnID}`),
          }));
        },
        handleError: reject,
        handleReadyForQuery: () => resolve(columns),
      };
      // The driver accepts any submittable; its types know only its own classes.
      this.#client.query(statement as unknown as pg.Query);
    });
  }
}

// The types of the tables are those of the database after the last migration, and as the pool's driver gives the values.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { connect, type Connected } from "../../host/database/connect.ts";
import type { TestDatabase } from "../support/service.ts";
import { startMigratedDatabase } from "./migrated.ts";
import { driverTypes, tableTypes } from "./table-types.ts";

const file = join(import.meta.dirname, "../../services/shared/database/tables.ts");

/** A value of each type, as SQL. */
const samples: Record<keyof typeof driverTypes, string> = {
  bool: "true",
  bytea: "'\\x01'",
  int2: "'1'",
  int4: "'1'",
  float8: "'1.5'",
  int8: "'9007199254740993'",
  numeric: "'1.10'",
  text: "'a'",
  varchar: "'a'",
  name: "'a'",
  uuid: "'00000000-0000-4000-8000-000000000000'",
  inet: "'::1'",
  date: "'2026-01-02'",
  timestamptz: "'2026-01-02T03:04:05Z'",
  json: "'{}'",
  jsonb: "'{}'",
};

describe("the tables' types", () => {
  let database: TestDatabase;
  let connected: Connected;
  beforeAll(async () => {
    database = await startMigratedDatabase();
    connected = await connect({ url: database.url, poolMax: 1, entities: [], statementTimeoutMs: 10_000 });
  });
  afterAll(async () => {
    await connected.close();
    await database.stop();
  });

  it("are of the database after the last migration: if not, run `npm run tables`", async () => {
    expect(await readFile(file, "utf8")).toBe(await tableTypes(database.owner));
  });
  it.each(Object.entries(driverTypes))("the pool's driver makes of %s a %s", async (type, made) => {
    const values = `${samples[type as keyof typeof samples]}::${type}`;
    const { rows } = await connected.database.pool.query(`select ${values} as one, array[${values}] as many`);
    const kind = (value: unknown) => (Buffer.isBuffer(value) ? "Buffer" : typeof value);
    const expected = made === "unknown" ? "object" : made;
    expect(kind(rows[0].one)).toBe(expected);
    // Of each array type that a table has: numbers stay numbers.
    if (["int4", "text", "timestamptz", "uuid"].includes(type))
      expect(rows[0].many.map(kind)).toEqual([expected]);
  });
});

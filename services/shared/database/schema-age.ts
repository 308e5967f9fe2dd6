// The age of the database's schema, read from the names of the applied migrations, and whether this program is compatible with
// it. A process with the owner's login migrates an older schema (provision.ts). A process with only the application's login may
// not, and waits. A newer schema names the oldest version of the program that is compatible with it
// (migrations/0028-compatibility.ts): from that version on a program starts normally and leaves the schema unchanged.
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { migrations } from "../../../migrations/all.ts";
import { errorCode, StartError } from "../start-error.ts";
import { version as ownVersion } from "../version.ts";
import { openClient, UnpreparedDatabase } from "./open-client.ts";
import { sqlStates } from "./sql-states.ts";
import { compareVersions, laterOf } from "./versions.ts";
import type { RowOf } from "./row.ts";

const pollEveryMs = 1_000;

/** "newer": a newer program has migrated the schema, and this program is compatible with it. */
export type SchemaAge = "current" | "older" | "newer";

const known: ReadonlySet<string> = new Set(migrations.map(({ name }) => name));

/** @throws StartError when a newer version migrated the database, and this program is not compatible with the result */
export async function schemaAge(client: pg.Client): Promise<SchemaAge> {
  const names = await appliedMigrations(client);
  const later = [...names].filter((name) => !known.has(name));
  if (later.length > 0) await assertWorksBeside(client, later);
  if (migrations.some(({ name }) => !names.has(name))) return "older";
  return later.length > 0 ? "newer" : "current";
}

/** @returns the migrations of the database that this program does not know */
export const unknownMigrations = (names: readonly string[]): string[] =>
  names.filter((name) => !known.has(name));

async function assertWorksBeside(client: pg.Client, later: readonly string[]): Promise<void> {
  const by = `The database was migrated by a newer version of this service (${later.toSorted().at(-1)})`;
  const table = await client.query("select to_regclass('schema_compatibility') is not null as exists");
  const { rows } =
    table.rows[0].exists === true
      ? await client.query<RowOf<"schema_compatibility", "oldest">>(
          "select oldest from schema_compatibility where migration = any($1)",
          [later],
        )
      : { rows: [] };
  if (rows.length < later.length) throw new StartError(`${by}: start that one.`);
  const oldest = rows.map((row) => row.oldest).reduce(laterOf);
  if (compareVersions(ownVersion, oldest) < 0)
    throw new StartError(
      `${by}, beside which ${oldest} is the oldest that works, and this is ${ownVersion}: start ${oldest} or later.`,
    );
}

async function appliedMigrations(client: pg.Client): Promise<Set<string>> {
  const table = await client.query("select to_regclass('mikro_orm_migrations') is not null as exists");
  if (table.rows[0].exists !== true) return new Set();
  try {
    const { rows } = await client.query<RowOf<"mikro_orm_migrations", "name">>(
      "select name from mikro_orm_migrations",
    );
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    // The migration grants the application's login the right to read this table.
    if (errorCode(error) === sqlStates.insufficientPrivilege) return new Set();
    throw error;
  }
}

export interface SchemaWait {
  /** How long to wait for a migration, in milliseconds. */
  msMax: number;
  /** Called once with the reason for waiting. */
  report: (reason: string) => void;
}

/**
 * Waits for the schema, in a process that has only the application's login.
 * @throws StartError when no migration came in time, or a newer version migrated with which this one is not compatible
 */
export async function awaitSchema(
  applicationUrl: string,
  { msMax, report: tell }: SchemaWait,
): Promise<SchemaAge> {
  const deadline = performance.now() + msMax;
  for (let told = false; ; told = true) {
    const found = await readSchemaAge(applicationUrl);
    if (!(found instanceof StartError)) return found;
    if (performance.now() >= deadline) throw found;
    if (!told) tell(found.message);
    await pause(pollEveryMs);
  }
}

/** @returns the reason if the database is not prepared yet */
async function readSchemaAge(applicationUrl: string): Promise<SchemaAge | StartError> {
  let client: pg.Client;
  try {
    client = await openClient(applicationUrl, "DATABASE_APP_URL");
  } catch (error) {
    // The migration also creates the login.
    if (error instanceof UnpreparedDatabase) return error;
    throw error;
  }
  try {
    const age = await schemaAge(client);
    return age === "older"
      ? new StartError(
          "The database's schema is older than this program: run `npm run migrate` first, with the owner's login as DATABASE_URL.",
        )
      : age;
  } finally {
    await client.end();
  }
}

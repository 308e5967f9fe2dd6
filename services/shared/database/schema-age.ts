// How old the database's schema is, told by the names of the migrations that ran, and whether this program works beside it. A
// process that holds the owner's login brings an older one up to date (provision.ts); one that holds only the application's
// may not, and waits for it. A newer one names the oldest version of the program that works beside it
// (migrations/0028-compatibility.ts): from that version on a program starts as ever and leaves the schema alone.
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { migrations } from "../../../migrations/all.ts";
import { errorCode, StartError } from "../start-error.ts";
import { version as ownVersion } from "../version.ts";
import { openClient, UnpreparedDatabase } from "./open-client.ts";
import { sqlStates } from "./sql-states.ts";
import { compareVersions, laterOf } from "./versions.ts";
import type { RowOf } from "./row.ts";

const lookEveryMs = 1_000;

/** "newer": somebody migrated it further than this program can, and this program works beside it all the same. */
export type SchemaAge = "current" | "older" | "newer";

const known: ReadonlySet<string> = new Set(migrations.map(({ name }) => name));

/** @throws StartError when a newer version migrated the database, and this one does not work beside what that has changed */
export async function schemaAge(client: pg.Client): Promise<SchemaAge> {
  const names = await migrated(client);
  const later = [...names].filter((name) => !known.has(name));
  if (later.length > 0) await assertWorksBeside(client, later);
  if (migrations.some(({ name }) => !names.has(name))) return "older";
  return later.length > 0 ? "newer" : "current";
}

/** Of the database, and unknown to this program. */
export const unknownOf = (names: readonly string[]): string[] => names.filter((name) => !known.has(name));

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

async function migrated(client: pg.Client): Promise<Set<string>> {
  const table = await client.query("select to_regclass('mikro_orm_migrations') is not null as exists");
  if (table.rows[0].exists !== true) return new Set();
  try {
    const { rows } = await client.query<RowOf<"mikro_orm_migrations", "name">>(
      "select name from mikro_orm_migrations",
    );
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    // Whoever migrates also lets the application's login read this.
    if (errorCode(error) === sqlStates.insufficientPrivilege) return new Set();
    throw error;
  }
}

export interface Waiting {
  /** How long a migration is waited for. */
  msMax: number;
  /** Told once, why it is waited. */
  tell: (reason: string) => void;
}

/**
 * For a process that has only the application's login.
 * @throws StartError when nobody migrated in time, or a newer version did beside which this one does not work
 */
export async function awaitSchema(applicationUrl: string, { msMax, tell }: Waiting): Promise<SchemaAge> {
  const deadline = performance.now() + msMax;
  for (let told = false; ; told = true) {
    const found = await look(applicationUrl);
    if (!(found instanceof StartError)) return found;
    if (performance.now() >= deadline) throw found;
    if (!told) tell(found.message);
    await pause(lookEveryMs);
  }
}

/** @returns the reason, where the database is not prepared (yet) */
async function look(applicationUrl: string): Promise<SchemaAge | StartError> {
  let client: pg.Client;
  try {
    client = await openClient(applicationUrl, "DATABASE_APP_URL");
  } catch (error) {
    // The login itself is made by whoever migrates.
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

// How old the database's schema is, told by the names of the migrations that ran. A process that holds the owner's login
// brings an older one up to date (provision.ts); one that holds only the application's may not, and says so.
import type pg from "pg";
import { migrations } from "../../../migrations/all.ts";
import { propertyOf, StartError } from "../embedded/start-error.ts";
import { openClient } from "./open-client.ts";

/** https://www.postgresql.org/docs/18/errcodes-appendix.html insufficient_privilege */
const mayNotRead = "42501";

/** @throws StartError when a newer version of this program migrated the database */
export async function schemaAge(client: pg.Client): Promise<"current" | "older"> {
  const { rows } = await client.query("select to_regclass('mikro_orm_migrations') is not null as exists");
  if (rows[0].exists !== true) return "older";
  const names = await migrated(client);
  const known = new Set(migrations.map((migration) => migration.name));
  const stranger = [...names].find((name) => !known.has(name));
  if (stranger !== undefined) {
    throw new StartError(
      `The database was migrated by a newer version of this service (${stranger}): start that one.`,
    );
  }
  return migrations.every((migration) => names.has(migration.name)) ? "current" : "older";
}

async function migrated(client: pg.Client): Promise<Set<string>> {
  try {
    const { rows } = await client.query<{ name: string }>("select name from mikro_orm_migrations");
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    // Whoever migrates also lets the application's login read this.
    if (propertyOf(error, "code") === mayNotRead) return new Set();
    throw error;
  }
}

/** For a process that has only the application's login. @throws StartError when somebody has to migrate first */
export async function assertSchemaCurrent(applicationUrl: string): Promise<void> {
  const client = await openClient(applicationUrl, "DATABASE_APP_URL");
  try {
    if ((await schemaAge(client)) === "older") {
      throw new StartError(
        "The database's schema is older than this program: run `npm run migrate` first, with the owner's login as DATABASE_URL.",
      );
    }
  } finally {
    await client.end();
  }
}

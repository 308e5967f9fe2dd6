// Prepares a database for this version: migrations, the job queue's schema, and the logins of the services. Runs with the owner's
// URL under an advisory lock, so any number of nodes may start together.
import pg from "pg";
import { migrations } from "../../migrations/all.ts";
import { StartError } from "../../services/shared/start-error.ts";
import { assertBootSecretOpens, opensMasterKeys } from "../../services/shared/sealing/wrapping.ts";
import { asApplication, loginFor, type LoginSettings, passwordOf } from "./application-login.ts";
import { defaultLogins, type Login } from "./logins.ts";
import { migrate } from "./migrate.ts";
import { openClient } from "../../services/shared/database/open-client.ts";
import { provisionJobs } from "./provision-jobs.ts";
import { provisionLogins, setPasswords } from "./provision-logins.ts";
import { type SchemaAge, schemaAge } from "../../services/shared/database/schema-age.ts";
import { assertServerFits } from "./server-fit.ts";
import type { RowOf } from "../../services/shared/database/row.ts";

const lockKey = 7_206_512;

export interface ProvisionOptions {
  ownerUrl: string;
  /** Derives the passwords of logins for which none was set. */
  bootSecret: string;
  /** Absent: the default logins. */
  logins?: LoginSettings | undefined;
  /** The services of a process that provisions for itself (names of folders; undefined: all); absent: no particular process. */
  forProcess?: { services: readonly string[] | undefined } | undefined;
  /** Called before steps that take a while. */
  report?: ((what: string) => void) | undefined;
  /** Called when the migration waits for a lock; default: `tell`. */
  reportWait?: ((why: string) => void) | undefined;
  /** The new generated secret, if a change to it was started and not completed. */
  nextBootSecret?: string | undefined;
}

/** Creates the database on the embedded server. */
export async function ensureDatabase(serverUrl: string, database: string): Promise<void> {
  const owner = new pg.Client({ connectionString: serverUrl, connectionTimeoutMillis: 10_000 });
  await owner.connect();
  try {
    const { rowCount } = await owner.query("select from pg_database where datname = $1", [database]);
    if (rowCount === 0) await owner.query(`create database ${pg.escapeIdentifier(database)}`);
  } finally {
    await owner.end();
  }
}

export interface Provisioned {
  /** The age that was found, or "current" after a migration. */
  schema: Exclude<SchemaAge, "older">;
  logins: readonly Login[];
  /**
   * The URL of the login for these services (names of folders; undefined: all). The login owns nothing and has the rights they
   * need.
   * @throws StartError when there is none
   */
  readonly urlFor: (services: readonly string[] | undefined) => string;
}

/** @throws StartError when the database does not fit, or BOOT_SECRET is wrong */
export async function provision(options: ProvisionOptions): Promise<Provisioned> {
  const { ownerUrl, bootSecret, forProcess } = options;
  const { logins: settings = { kinds: defaultLogins, passwords: {} } } = options;
  const owner = await openClient(ownerUrl, "DATABASE_URL");
  try {
    await assertServerFits(owner, settings.kinds);
    await owner.query("select pg_advisory_lock($1)", [lockKey]);
    await assertBootSecret(owner, options);
    const database = await databaseOf(owner);
    const age = await schemaAge(owner);
    if (age === "older") {
      options.report?.("bringing the database up to this version");
      await migrate(ownerUrl, database, { report: options.reportWait ?? options.report });
    }
    const forKind = forProcess && loginFor(settings.kinds, forProcess.services).kind;
    const given = { owner, database, settings, bootSecret, forKind };
    // With a newer schema the newer version is responsible for the rights of the logins.
    if (age !== "newer") await provisionJobs(owner, ownerUrl);
    const logins = await (age === "newer" ? setPasswords(given) : provisionLogins(given));
    const urlFor = (services: readonly string[] | undefined) => {
      const { name, kind } = loginFor(logins, services);
      return asApplication(ownerUrl, { name, password: passwordOf(kind, database, settings, bootSecret) });
    };
    return { schema: age === "newer" ? age : "current", logins, urlFor };
  } finally {
    await owner.end();
  }
}

/**
 * Prepares an empty database for a backup of an earlier version: with the tables of that version.
 * @param last the name of that version's last migration
 * @throws StartError when this program does not know the migration, or the database is newer
 */
export async function provisionAt(ownerUrl: string, bootSecret: string, last: string): Promise<void> {
  const owner = await openClient(ownerUrl, "DATABASE_URL");
  try {
    await assertServerFits(owner, []);
    await owner.query("select pg_advisory_lock($1)", [lockKey]);
    await assertBootSecret(owner, { ownerUrl, bootSecret });
    await schemaAge(owner);
    if (!migrations.some(({ name }) => name === last))
      throw new StartError(
        `The backup is of a version that this one does not know (${last}): restore it with that one.`,
      );
    const newest = await newestMigration(owner);
    if (newest !== undefined && newest > last)
      throw new StartError(
        "The database has tables of a later version than the backup: restore into a new, empty one.",
      );
    if (newest !== last) await migrate(ownerUrl, await databaseOf(owner), { last });
    await provisionJobs(owner, ownerUrl);
  } finally {
    await owner.end();
  }
}

async function newestMigration(owner: pg.Client): Promise<string | undefined> {
  const { rows } = await owner.query("select to_regclass('mikro_orm_migrations') is not null as exists");
  if (rows[0].exists !== true) return undefined;
  const newest = await owner.query<{ name: string | null }>(
    "select max(name) as name from mikro_orm_migrations",
  );
  return newest.rows[0]?.name ?? undefined;
}

/** Checked before anything is written: a wrong secret would lock out the processes with the right one. */
async function assertBootSecret(
  owner: pg.Client,
  { bootSecret, nextBootSecret }: ProvisionOptions,
): Promise<void> {
  const { rows } = await owner.query("select to_regclass('master_keys') is not null as exists");
  if (rows[0].exists !== true) return;
  const masters = await owner.query<RowOf<"master_keys", "version" | "wrapped", { wrapped: Buffer }>>(
    "select version, wrapped from master_keys where wrapped is not null order by version",
  );
  if (
    nextBootSecret !== undefined &&
    !opensMasterKeys(bootSecret, masters.rows) &&
    opensMasterKeys(nextBootSecret, masters.rows)
  )
    throw new StartError(
      "`npm run rewrap` was interrupted: run it again, then start the service; nothing is lost.",
    );
  assertBootSecretOpens(bootSecret, masters.rows);
}

async function databaseOf(owner: pg.Client): Promise<string> {
  const { rows } = await owner.query<{ database: string }>("select current_database() as database");
  return rows[0]?.database ?? "";
}

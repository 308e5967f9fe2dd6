// Makes a database ready for this version: migrations, the job queue's own schema, and the login the services work
// as. Runs with the owner's URL under an advisory lock, so that any number of nodes may start together.
import { MikroORM } from "@mikro-orm/postgresql";
import { Migrator } from "@mikro-orm/migrations";
import { runMigrations } from "graphile-worker";
import pg from "pg";
import { migrations } from "../../../migrations/all.ts";
import { StartError } from "../embedded/start-error.ts";
import { assertBootSecretOpens, opensMasterKeys } from "../sealing/wrapping.ts";
import { applicationLogin, asApplication } from "./application-login.ts";
import { openClient } from "./open-client.ts";
import { schemaAge } from "./schema-age.ts";

const lockKey = 7_206_512;

export interface ProvisionOptions {
  ownerUrl: string;
  /** The application login's password is derived from it, so every node knows it and nobody has to set it. */
  bootSecret: string;
  /** A generated one that is to follow, where the change to it was begun and did not end. */
  nextBootSecret?: string | undefined;
}

/** For the embedded server, which is ours alone. */
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

/** @returns the URL of the application's login, which owns nothing and sees only what the policies allow */
export async function provision(options: ProvisionOptions): Promise<string> {
  const owner = await openClient(options.ownerUrl, "DATABASE_URL");
  try {
    await assertFoldsCase(owner);
    await owner.query("select pg_advisory_lock($1)", [lockKey]);
    await assertBootSecret(owner, options);
    if ((await schemaAge(owner)) === "older") await migrate(options.ownerUrl, await databaseOf(owner));
    await prepareJobs(owner, options.ownerUrl);
    return await prepareLogin(owner, options);
  } finally {
    await owner.end();
  }
}

/**
 * For a backup of an earlier version: an empty database with the tables of that version.
 * @param last the name of that version's last migration
 * @throws StartError when this program does not know it, or the database is beyond it
 */
export async function provisionAt(ownerUrl: string, bootSecret: string, last: string): Promise<void> {
  const owner = await openClient(ownerUrl, "DATABASE_URL");
  try {
    await assertFoldsCase(owner);
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
    if (newest !== last) await migrate(ownerUrl, await databaseOf(owner), last);
    await prepareJobs(owner, ownerUrl);
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

/** E-mails and record numbers are told apart whatever their case, in every script. @throws StartError */
async function assertFoldsCase(owner: pg.Client): Promise<void> {
  const { rows } = await owner.query<{ encoding: string }>("select getdatabaseencoding() as encoding");
  const encoding = rows[0]?.encoding ?? "";
  // Another encoding may not even have the letter.
  const folded = encoding === "UTF8" ? await owner.query("select lower('ÄI') = 'äi' as well") : undefined;
  if (folded?.rows[0].well === true) return;
  const found =
    folded === undefined ? `has the encoding ${encoding}` : "folds the case of ASCII letters only";
  throw new StartError(
    `The database of DATABASE_URL ${found}: create one with the encoding UTF8 and a locale such as C.UTF-8 or en_US.UTF-8.`,
  );
}

/** Before anything is written: a wrong secret would shut out the processes that have the right one. */
async function assertBootSecret(
  owner: pg.Client,
  { bootSecret, nextBootSecret }: ProvisionOptions,
): Promise<void> {
  const { rows } = await owner.query("select to_regclass('master_keys') is not null as exists");
  if (rows[0].exists !== true) return;
  const masters = await owner.query<{ version: number; wrapped: Buffer }>(
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

/** @param database its own name: of a database that is not there the migrator would make one */
async function migrate(ownerUrl: string, database: string, last?: string): Promise<void> {
  const orm = await MikroORM.init({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    dbName: database,
    ensureDatabase: false,
    extensions: [Migrator],
    logger: () => {},
    driverOptions: { connectionString: ownerUrl },
    migrations: { migrationsList: migrations, snapshot: false, transactional: true, allOrNothing: true },
  });
  try {
    await orm.migrator.up(last === undefined ? undefined : { to: last });
  } finally {
    await orm.close();
  }
}

/** graphile-worker shuts its tables to all but their owner by row-level security without policies; jobs hold ids only. */
async function prepareJobs(owner: pg.Client, ownerUrl: string): Promise<void> {
  const { rows } = await owner.query(
    "select exists (select from pg_policies where schemaname = 'graphile_worker' and policyname = 'records') as ready",
  );
  if (rows[0].ready === true) return;
  await runMigrations({ connectionString: ownerUrl, maxPoolSize: 1 });
  await owner.query(`
    grant usage on schema graphile_worker to records_app, records_platform;
    grant select, insert, update, delete on all tables in schema graphile_worker to records_app, records_platform;
    grant usage, select on all sequences in schema graphile_worker to records_app, records_platform;
    grant execute on all functions in schema graphile_worker to records_app, records_platform;
    do $$
    declare name text;
    begin
      for name in select relname from pg_class where relnamespace = 'graphile_worker'::regnamespace and relrowsecurity loop
        execute format('create policy records on graphile_worker.%I to records_app, records_platform using (true)', name);
      end loop;
    end $$;
  `);
}

async function prepareLogin(owner: pg.Client, options: ProvisionOptions): Promise<string> {
  const database = await databaseOf(owner);
  const login = applicationLogin(database, options.bootSecret);
  const name = pg.escapeIdentifier(login.name);
  const exists = await owner.query("select from pg_roles where rolname = $1", [login.name]);
  if (exists.rowCount === 0) {
    await owner.query(`create role ${name} login nosuperuser nobypassrls nocreaterole nocreatedb`);
    await owner.query(`grant records_app to ${name} with inherit true, set false`);
    await owner.query(`grant records_platform to ${name} with inherit false, set true`);
  }
  await owner.query(`alter role ${name} password ${pg.escapeLiteral(login.password)}`);
  await owner.query(`grant connect on database ${pg.escapeIdentifier(database)} to ${name}`);
  // So that a process without the owner's login can tell whether it has to wait for a migration.
  await owner.query("grant select on mikro_orm_migrations to records_app, records_platform");
  return asApplication(options.ownerUrl, login);
}

// Runs the migrations that a database does not have yet, all in one transaction, and keeps with each beside which versions of
// the program it works. Meanwhile the services go on: a migration that would have to wait for a table lets go soon, and tries
// again, because whoever comes after it would wait too, and two that wait for each other are one request that failed.
import { setTimeout as pause } from "node:timers/promises";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { MikroORM } from "@mikro-orm/postgresql";
import pg from "pg";
import { isLockConflict } from "../../services/shared/database/sql-states.ts";
import { type ListedMigration, migrations } from "../../migrations/all.ts";
import { errorCode, StartError } from "../../services/shared/start-error.ts";
import { version } from "../../services/shared/version.ts";

/** Makes the table in which it is kept. */
const firstKept = "0028-compatibility";
/** Below PostgreSQL's `deadlock_timeout` (1 s): so where the two wait for each other it is the migration that gives up. */
const lockMsMax = 400;
const triesMax = 600;
const betweenTriesMs = 600;

export interface MigrateOptions {
  /** The name of the last migration that is wanted; undefined: all. */
  last?: string | undefined;
  tell?: ((what: string) => void) | undefined;
}

/**
 * @param database its own name: of a database that is not there the migrator would make one
 * @throws StartError when a table is held for ten minutes
 */
export async function migrate(ownerUrl: string, database: string, options: MigrateOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await migrateOnce(ownerUrl, database, options.last);
    } catch (error) {
      if (!isLockConflict(errorCode(error))) throw error;
      if (tries === triesMax)
        throw new StartError(
          "A transaction holds a table that the migration changes, for ten minutes now: end it, then migrate again.",
          { cause: error },
        );
      if (tries === 1) options.tell?.("a transaction holds a table that has to change: waiting for its end");
      await pause(betweenTriesMs);
    }
  }
}

async function migrateOnce(ownerUrl: string, database: string, last: string | undefined): Promise<void> {
  const orm = await MikroORM.init({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    dbName: database,
    ensureDatabase: false,
    extensions: [Migrator],
    logger: () => {},
    driverOptions: { connectionString: ownerUrl, lock_timeout: lockMsMax },
    migrations: {
      migrationsList: migrations.map((each) => ({ name: each.name, class: keeping(each) })),
      snapshot: false,
      transactional: true,
      allOrNothing: true,
    },
  });
  try {
    await orm.migrator.up(last === undefined ? undefined : { to: last });
  } finally {
    await orm.close();
  }
}

/** The migration, which also writes beside which versions it works: in its own transaction. */
function keeping(migration: ListedMigration): ListedMigration["class"] {
  const { name } = migration;
  if (name < firstKept) return migration.class;
  const kept = name === firstKept ? migrations.filter((each) => each.name <= name) : [migration];
  const rows = kept.map((each) => `(${[each.name, each.oldest, version].map(pg.escapeLiteral).join(", ")})`);
  const keep = `insert into schema_compatibility (migration, oldest, migrated_by) values ${rows.join(", ")}`;
  return class extends Migration {
    override async up(): Promise<void> {
      const inner = new migration.class(this.driver, this.config);
      if (this.ctx !== undefined) inner.setTransactionContext(this.ctx);
      await inner.up();
      for (const query of [...inner.getQueries(), keep]) this.addSql(query);
    }
  };
}

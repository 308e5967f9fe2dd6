// Runs the missing migrations in one transaction, and stores with each the oldest compatible version of the program. The services
// keep running meanwhile. A migration that has to wait for a table lock gives up soon and tries again: statements that arrive
// after it would wait too, and a deadlock would make one request fail.
import { setTimeout as pause } from "node:timers/promises";
import { Migration, Migrator } from "@mikro-orm/migrations";
import { MikroORM } from "@mikro-orm/postgresql";
import pg from "pg";
import { isLockConflict } from "../../services/shared/database/sql-states.ts";
import { type ListedMigration, migrations } from "../../migrations/all.ts";
import { errorCode, StartError } from "../../services/shared/start-error.ts";
import { version } from "../../services/shared/version.ts";

/** The migration that creates the table of compatible versions. */
const compatibilityMigration = "0028-compatibility";
/** Less than PostgreSQL's `deadlock_timeout` (1 s): in a deadlock the migration gives up, and not a request. */
const lockMsMax = 400;
const triesMax = 600;
const betweenTriesMs = 600;

export interface MigrateOptions {
  /** The name of the last migration to run; undefined: all. */
  last?: string | undefined;
  report?: ((what: string) => void) | undefined;
}

/**
 * @param database must exist: otherwise the migrator would create it
 * @throws StartError when a table stays locked for ten minutes
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
      if (tries === 1)
        options.report?.("a transaction holds a table that has to change: waiting for its end");
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
      migrationsList: migrations.map((each) => ({ name: each.name, class: withCompatibility(each) })),
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

/** Wraps a migration so that it also stores its compatible version, in its own transaction. */
function withCompatibility(migration: ListedMigration): ListedMigration["class"] {
  const { name } = migration;
  if (name < compatibilityMigration) return migration.class;
  const kept = name === compatibilityMigration ? migrations.filter((each) => each.name <= name) : [migration];
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

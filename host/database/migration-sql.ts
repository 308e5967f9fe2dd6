// The migrations as the SQL that they run, for whoever reads them before they do: nothing is connected to.
import { MikroORM } from "@mikro-orm/postgresql";
import { type ListedMigration, migrations } from "../../migrations/all.ts";

export interface MigrationSql {
  name: string;
  statements: string[];
}

/** What each migration runs, in the order in which they do. */
export async function migrationSql(): Promise<MigrationSql[]> {
  // A migration is made with a driver and settings; ours only hold texts, so that none is ever asked.
  const orm = await MikroORM.init({
    entities: [],
    discovery: { warnWhenNoEntities: false },
    dbName: "none",
    ensureDatabase: false,
    logger: () => {},
  });
  try {
    return await Promise.all(migrations.map((listed) => sqlOf(listed, orm)));
  } finally {
    await orm.close();
  }
}

async function sqlOf({ name, class: Listed }: ListedMigration, orm: MikroORM): Promise<MigrationSql> {
  const migration = new Listed(orm.driver, orm.config);
  await migration.up();
  const statements = migration.getQueries().map((query) => {
    if (typeof query !== "string") throw new Error(`${name} is not plain SQL`);
    return query;
  });
  return { name, statements };
}

/** All of them as one script, to be read. What keeps which of them ran, and makes the logins, is the program's own. */
export async function migrationScript(): Promise<string> {
  const parts = (await migrationSql()).map(
    ({ name, statements }) => `-- ${name}\n${statements.map(ended).join("\n")}`,
  );
  const head =
    "-- What `npm run migrate` runs on an empty database, all in one transaction. It also keeps which of these ran, and makes the\n-- services' logins (`npm run -s roles`): so let the program run them.";
  return `${[head, ...parts].join("\n\n")}\n`;
}

const ended = (statement: string): string => {
  const text = statement.trim();
  return text.endsWith(";") ? text : `${text};`;
};

// `npm run migrate`: prepares the database for this version (tables, job queue, the services' logins) and exits. With it only
// this program needs the owner's login; the services use DATABASE_APP_URL. Several may run at the same time, and again: they wait
// for each other, and a run without anything to do does nothing.
import { fail } from "./fail.ts";
import { readConfig } from "./settings/config.ts";
import { migrationScript } from "./database/migration-sql.ts";
import { provision } from "./database/provision.ts";
import { StartError } from "../services/shared/start-error.ts";
import { forMigration } from "./settings/for-migration.ts";

async function migrate(env: NodeJS.ProcessEnv): Promise<void> {
  const { databaseUrl, bootSecret, databaseLogins, databasePasswords } = readConfig(forMigration(env));
  if (databaseUrl === undefined)
    throw new StartError(
      "DATABASE_URL (or DATABASE_URL_FILE) must name the database to migrate, with its owner's login.",
    );
  if (bootSecret === undefined)
    throw new StartError(
      "BOOT_SECRET (or BOOT_SECRET_FILE) must be set: the passwords that are not set follow from it.",
    );
  const logins = { kinds: databaseLogins, passwords: databasePasswords };
  const waits = (why: string) => process.stdout.write(`Not done yet: ${why}.\n`);
  const provisioned = await provision({ ownerUrl: databaseUrl, bootSecret, logins, reportWait: waits });
  const names = provisioned.logins.map(({ name }) => name).join(", ");
  process.stdout.write(
    provisioned.schema === "newer"
      ? `The database is of a newer version, beside which this one works: the passwords were set, and nothing else; its services work as ${names}.\n`
      : `The database is ready for this version; its services work as ${names}.\n`,
  );
}

/** `--sql`: what it would run on an empty database, to be read. Nothing is connected to, and no setting is needed. */
const run = process.argv.includes("--sql")
  ? migrationScript().then((script) => void process.stdout.write(script))
  : migrate(process.env);
await run.catch((error: unknown) => fail(error, process.env));

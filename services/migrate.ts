// `npm run migrate`: makes the database ready for this version (tables, job queue, the application's login) and ends.
// With it only this program needs the owner's login; the services run with DATABASE_APP_URL. Any number may run at a
// time and again: they wait for each other, and one that finds nothing to do does nothing.
import { fail } from "./fail.ts";
import { readConfig } from "./shared/config.ts";
import { provision } from "./shared/database/provision.ts";
import { StartError } from "./shared/embedded/start-error.ts";

/** No other setting is read, so that whoever migrates need not hold the other secrets. */
const wanted = ["DATABASE_URL", "BOOT_SECRET"].flatMap((name) => [name, `${name}_FILE`]);

async function migrate(env: NodeJS.ProcessEnv): Promise<void> {
  const { databaseUrl, bootSecret } = readConfig(Object.fromEntries(wanted.map((name) => [name, env[name]])));
  if (databaseUrl === undefined)
    throw new StartError(
      "DATABASE_URL (or DATABASE_URL_FILE) must name the database to migrate, with its owner's login.",
    );
  if (bootSecret === undefined)
    throw new StartError(
      "BOOT_SECRET (or BOOT_SECRET_FILE) must be set: the application's password follows from it.",
    );
  const { username } = new URL(await provision({ ownerUrl: databaseUrl, bootSecret }));
  process.stdout.write(
    `The database is ready for this version; its services work as ${decodeURIComponent(username)}.\n`,
  );
}

await migrate(process.env).catch(fail);

// `npm run -s roles`: prints the SQL for an administrator of the server if the database owner may not create roles. It reads the
// settings of `npm run migrate` and connects to nothing. The output contains passwords only as SCRAM verifiers.
import { fail } from "./fail.ts";
import { readConfig } from "./settings/config.ts";
import { rolesScript } from "./database/roles-script.ts";
import { StartError } from "../services/shared/start-error.ts";
import { forMigration } from "./settings/for-migration.ts";

async function roles(env: NodeJS.ProcessEnv): Promise<void> {
  const { databaseUrl, bootSecret, databaseLogins, databasePasswords } = readConfig(forMigration(env));
  const { username, pathname } = new URL(
    (databaseUrl ?? "postgresql://localhost/").replace("@/", "@localhost/"),
  );
  const [owner, database] = [decodeURIComponent(username), decodeURIComponent(pathname.slice(1))];
  if (owner === "" || database === "")
    throw new StartError(
      "DATABASE_URL must name the database and its owner's login, as for `npm run migrate`.",
    );
  const settings = { kinds: databaseLogins, passwords: databasePasswords };
  process.stdout.write(await rolesScript({ database, owner, settings, bootSecret }));
}

await roles(process.env).catch((error: unknown) => fail(error));

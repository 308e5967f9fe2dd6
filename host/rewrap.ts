// `npm run rewrap`: wraps the master keys with a new BOOT_SECRET and exits. If BOOT_SECRET is set, NEW_BOOT_SECRET holds the new
// one, and the operator changes the setting afterwards. A generated one is replaced in DATA_DIR by another generated one. Stop
// the service first: its processes use the old secret. It is one transaction; after a crash run it again and it continues.
import { fail } from "./fail.ts";
import { readConfig } from "./settings/config.ts";
import { ensureDatabase } from "./database/provision.ts";
import { rewrapMasterKeys } from "./database/rewrap-master-keys.ts";
import { openDataDirectory } from "./embedded/data-directory.ts";
import { startEmbeddedPostgres } from "./embedded/postgres.ts";
import { loadOrCreateSecrets, nextBootName, replaceSecret } from "./embedded/secrets.ts";
import { StartError } from "../services/shared/start-error.ts";

const embeddedDatabase = "records";
/** The only settings that are read: it runs in the environment of the migration, which has no other secrets. */
const wanted =
  /^(?:DATA_DIR|DATABASE_URL|(?:NEW_)?BOOT_SECRET|DATABASE_LOGINS|DATABASE_PASSWORD_[A-Z0-9]+)(?:_FILE)?$/;

async function rewrap(env: NodeJS.ProcessEnv): Promise<void> {
  const config = readConfig(Object.fromEntries(Object.entries(env).filter(([name]) => wanted.test(name))));
  const { bootSecret, newBootSecret, databaseUrl, dataDir } = config;
  if (bootSecret !== undefined && newBootSecret === undefined)
    throw new StartError("NEW_BOOT_SECRET (or NEW_BOOT_SECRET_FILE) must hold the secret that is to follow.");
  if (bootSecret === undefined && newBootSecret !== undefined)
    throw new StartError(
      "NEW_BOOT_SECRET follows a BOOT_SECRET that is set; a generated one is replaced by itself.",
    );
  const closing: (() => Promise<void>)[] = [];
  try {
    const embedded = databaseUrl === undefined;
    const directory = embedded || bootSecret === undefined ? await openDataDirectory(dataDir) : undefined;
    if (directory !== undefined) closing.push(() => directory.release());
    const names = bootSecret === undefined ? ["boot", nextBootName, "postgres"] : ["postgres"];
    const kept = directory === undefined ? {} : await loadOrCreateSecrets(directory.path, names);
    const secrets = { old: bootSecret ?? kept.boot ?? "", fresh: newBootSecret ?? kept[nextBootName] ?? "" };
    const ownerUrl = databaseUrl ?? (await embeddedUrl(directory?.path ?? "", kept.postgres ?? "", closing));
    const logins = { kinds: config.databaseLogins, passwords: config.databasePasswords };
    const count = await rewrapMasterKeys(ownerUrl, secrets, logins);
    if (directory !== undefined && bootSecret === undefined)
      await replaceSecret(directory.path, "boot", nextBootName);
    const next =
      bootSecret === undefined ? "Start the service." : "Set BOOT_SECRET to it and start the service.";
    process.stdout.write(`${count} master key(s) are under the new secret now. ${next}\n`);
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

async function embeddedUrl(
  dataDir: string,
  password: string,
  closing: (() => Promise<void>)[],
): Promise<string> {
  const server = await startEmbeddedPostgres({ dataDir, superuser: "postgres", password, log: () => {} });
  closing.push(() => server.stop());
  await ensureDatabase(server.url("postgres"), embeddedDatabase);
  return server.url(embeddedDatabase);
}

await rewrap(process.env).catch((error: unknown) => fail(error));

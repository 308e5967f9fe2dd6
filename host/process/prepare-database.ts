// Prepares the database of the services: the embedded one, one that this process provisions, or one that `npm run migrate`
// provisions. Returns the URL with the login of the services.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { completeLogin } from "../database/application-login.ts";
import { ensureDatabase, type Provisioned, provision } from "../database/provision.ts";
import { awaitSchema } from "../../services/shared/database/schema-age.ts";
import type { DataDirectory } from "../embedded/data-directory.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../embedded/postgres.ts";
import { nextBootName, readSecret } from "../embedded/secrets.ts";
import { levelsOf } from "../../services/shared/log-levels.ts";
import type { Secrets } from "./secrets.ts";
import type { Config } from "../settings/settings.ts";

const embeddedUser = "postgres";
const embeddedDatabase = "records";
const besideNewer = "the database is of a newer version, beside which this one works";

export interface PreparedBy {
  config: Config;
  secrets: Secrets;
  log: Logger;
  /** The data folder of this process. The embedded database needs it, and its owner's password. */
  directory: DataDirectory | undefined;
  password: string | undefined;
  /** Called when the embedded database ends by itself. */
  onFailure: (reason: string) => void;
  /** Functions that close what is opened here. */
  closing: (() => Promise<void>)[];
}

/**
 * @returns the URL of the services' login
 * @throws StartError when there is no such database, or it is not the one for this program
 */
export async function prepareDatabase(by: PreparedBy): Promise<string> {
  const { config, secrets } = by;
  const { services, databaseLogins: kinds, databasePasswords: passwords } = config;
  const logins = { kinds, passwords };
  if (config.databaseUrl !== undefined) {
    const provisioned = await provisionFor(by, config.databaseUrl);
    return config.databaseAppUrl === undefined
      ? provisioned.urlFor(services)
      : completeLogin(config.databaseAppUrl, logins, secrets.boot, services);
  }
  if (config.databaseAppUrl !== undefined) {
    const url = completeLogin(config.databaseAppUrl, logins, secrets.bootIfHeld, services);
    const schema = await awaitSchema(url, {
      msMax: config.schemaWaitSeconds * 1_000,
      report: (reason) => by.log.warn(`Not ready yet. ${reason}`),
    });
    if (schema === "newer") by.log.info(besideNewer);
    return url;
  }
  const server = await startEmbedded(by);
  await ensureDatabase(server.url("postgres"), embeddedDatabase);
  return (await provisionFor(by, server.url(embeddedDatabase))).urlFor(services);
}

async function provisionFor(
  { config, secrets, directory, log }: PreparedBy,
  ownerUrl: string,
): Promise<Provisioned> {
  const nextBootSecret =
    directory === undefined || config.bootSecret !== undefined
      ? undefined
      : await readSecret(directory.path, nextBootName);
  const provisioned = await provision({
    ownerUrl,
    bootSecret: secrets.boot,
    nextBootSecret,
    logins: { kinds: config.databaseLogins, passwords: config.databasePasswords },
    forProcess: { services: config.services },
    report: (what) => log.info(what),
  });
  if (provisioned.schema === "newer") log.info(besideNewer);
  return provisioned;
}

async function startEmbedded(by: PreparedBy): Promise<EmbeddedPostgres> {
  const { directory, password } = by;
  if (directory === undefined || password === undefined)
    throw new Error("the embedded database has no directory");
  if (!existsSync(join(directory.path, "postgres")))
    by.log.info({ folder: directory.path }, "making the database: this is done once");
  const log = levelsOf(by.log).child("postgres");
  const server = await startEmbeddedPostgres({
    dataDir: directory.path,
    superuser: embeddedUser,
    password,
    log: (line) => log.debug(line),
  });
  by.closing.push(() => server.stop());
  server.onExit(by.onFailure);
  return server;
}

/** Settings of the database: its owner, and the logins of the services. */
import { defaultLogins, kindFor, type LoginKind } from "../database/logins.ts";
import { restoreSuffix } from "../../services/shared/database/scope.ts";
import { rightsByService } from "../database/grants/registry.ts";
import { family, isProduction, secret, setting } from "./entry.ts";
import * as read from "./readers.ts";

const kindsMax = 20;
/** `<login>_platform` and `<login>_restore` are roles of a login, so no kind of login may have these names. */
const reserved: ReadonlySet<string> = new Set(["platform", restoreSuffix]);
const known = Object.keys(rightsByService);

/** `accounts=auth,tenants,users;login=*` */
const logins: read.Reader<readonly LoginKind[]> = (text) => {
  const parts = text.split(";").map((part) => part.trim());
  const kinds = parts.filter((part) => part !== "").map(readKind);
  if (kinds.length === 0 || kinds.length > kindsMax)
    throw new read.Refused(`must list 1 to ${kindsMax} logins, separated by semicolons`);
  if (new Set(kinds.map(({ kind }) => kind)).size < kinds.length)
    throw new read.Refused("must name each login once");
  return kinds;
};

function readKind(part: string): LoginKind {
  const [, kind = "", list = ""] = /^([a-z][a-z0-9]{0,19}) *= *([a-z*][a-z*, -]*)$/.exec(part) ?? [];
  const services = list === "*" ? known : list.split(",").map((each) => each.trim());
  const unknownNames = services.filter((service) => !known.includes(service));
  if (kind === "" || reserved.has(kind) || unknownNames.length > 0)
    throw new read.Refused(
      `must list logins as name=service,service or name=*, the services among ${known.join(", ")}`,
    );
  return { kind, services: [...new Set(services)] };
}

const listed = defaultLogins
  .map(({ kind, services }) => `${kind}=${services.length === known.length ? "*" : services.join(",")}`)
  .join(";");

/**
 * By kind of process. With the replicas of k8s/overlays/production, and one more of each during a rollout, the sum stays below
 * PostgreSQL's 100 connections (test/deploy/connections.test.ts). One connection listens for jobs, two if a service has a
 * runner of its own (mail, messenger).
 */
const poolMaxes: Readonly<Record<string, number>> = {
  accounts: 5,
  support: 6,
  outbound: 4,
  crypto: 3,
  backups: 3,
};
const poolMaxOfAll = 10;

/** @param services as in SERVICES; undefined: all */
function poolMaxFor(services: string | undefined): number {
  const wanted = services?.split(",").map((each) => each.trim());
  const kind = kindFor(defaultLogins, wanted)?.kind;
  return (kind === undefined ? undefined : poolMaxes[kind]) ?? poolMaxOfAll;
}

export const databaseSettings = {
  databaseUrl: secret(
    "DATABASE_URL",
    read.databaseUrl,
    "PostgreSQL login that owns the tables and migrates them",
    "embedded, under `DATA_DIR`",
  ),
  databaseAppUrl: secret(
    "DATABASE_APP_URL",
    read.databaseUrl,
    "PostgreSQL for a process that does not migrate (see `npm run migrate`); without a login in it, the one for its `SERVICES` is used, with `DATABASE_PASSWORD_<KIND>` or, where that is not set, the password derived from `BOOT_SECRET`",
    "derived from `DATABASE_URL`",
  ),
  databaseLogins: setting(
    "DATABASE_LOGINS",
    logins,
    listed,
    "Database logins that `npm run migrate` keeps, with the services each is for (`*`: all): kind `accounts` is the login `<database>_accounts`; others that it made before sign in no more",
  ),
  databasePasswords: family(
    "DATABASE_PASSWORD_<KIND>",
    read.plainText(/^[!-~]{16,200}$/, "16 to 200 visible ASCII characters"),
    "Password of one of these logins, `DATABASE_PASSWORD_ACCOUNTS` for `accounts`",
    "derived from `BOOT_SECRET`",
  ),
  databasePooler: setting(
    "DATABASE_POOLER",
    read.oneOf("none", "transaction"),
    "none",
    "`transaction` where `DATABASE_APP_URL` leads to a pooler that lends a connection for one transaction, such as PgBouncer with that pool_mode",
  ),
  schemaWaitSeconds: setting(
    "SCHEMA_WAIT_SECONDS",
    read.wholeNumber(0, 86_400),
    (textOf) => (isProduction(textOf) ? "1800" : "0"),
    "How long a process with `DATABASE_APP_URL` waits, not ready, for `npm run migrate` of its version before it gives up",
    "0; in production 1800",
  ),
  databasePoolMax: setting(
    "DATABASE_POOL_MAX",
    read.wholeNumber(1, 500),
    (textOf) => String(poolMaxFor(textOf("SERVICES"))),
    "Most database connections of one process, beside one for probes",
    "10; less where `SERVICES` runs one kind of process alone: accounts 5, support 6, outbound 4, crypto 3, backups 3",
  ),
  databasePoolWaitMs: setting(
    "DATABASE_POOL_WAIT_MS",
    read.wholeNumber(100, 5_000),
    "1000",
    "How long a request waits for a connection where all of its process are in use, before it is 503",
  ),
  idleInTransactionMaxSeconds: setting(
    "IDLE_IN_TRANSACTION_MAX_SECONDS",
    read.wholeNumber(1, 86_400),
    "600",
    "How long a connection of the services may hold a transaction without a statement before self-healing takes it for forgotten",
  ),
};

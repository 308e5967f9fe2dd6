// The one ORM of a process and its connection pool (several MikroORM instances in one process have lost writes).
import { MikroORM } from "@mikro-orm/postgresql";
import type { EntitySchema } from "@mikro-orm/core";
import type pg from "pg";
import { PostgresProbe } from "../process/health-probes.ts";
import { guardPool } from "./guarded-pool.ts";
import { guardConnection } from "./broken-connection.ts";
import { BoundValuesDriver } from "../../services/shared/database/bound-values.ts";
import { Database } from "../../services/shared/database/database.ts";
import { transactionPooling, scopeStatements } from "../../services/shared/database/scope.ts";
import { ServerSilence } from "./server-silence.ts";

/**
 * A process that stands still in the middle of a change holds its rows, and all others of the tenant wait behind it. None of
 * ours does anything between two statements that takes so long.
 */
const idleInTransactionMsMax = 1_500;

export interface ConnectOptions {
  url: string;
  poolMax: number;
  /** How long a statement waits for a connection when all are in use; a second by default. */
  poolWaitMs?: number;
  entities: readonly EntitySchema[];
  statementTimeoutMs: number;
  /** Whether the URL leads to a pooler that lends a connection for one transaction. */
  pooled?: boolean;
  /** What the database shows of its sessions; its first word is `records`, which is all of it by default. */
  sessionName?: string;
}

export interface Connected {
  database: Database;
  /** Whether it has stopped to answer: statements are refused at once until it does again. */
  isSilent(): boolean;
  close(): Promise<void>;
}

export async function connect(options: ConnectOptions): Promise<Connected> {
  const { url, poolMax, poolWaitMs = 1_000, pooled = false } = options;
  const begins = {
    statement_timeout: String(options.statementTimeoutMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMsMax),
  };
  const probe = new PostgresProbe(url);
  const silence = new ServerSilence(async () => {
    const answers = await probe.answers();
    // Asked for seldom: meanwhile it takes no connection.
    if (answers) probe.close();
    return answers;
  });
  const prepare = pooled ? prepareLent : prepareConnection;
  const orm = await MikroORM.init({
    driver: BoundValuesDriver,
    entities: [...options.entities],
    discovery: { warnWhenNoEntities: false },
    dbName: databaseOf(url),
    ensureDatabase: false,
    forceUtcTimezone: true,
    ignoreUndefinedInQuery: true,
    pool: { min: 0, max: poolMax, idleTimeoutMillis: 30_000 },
    logger: () => {},
    driverOptions: {
      // Parsed by the driver itself, which also knows sockets (`?host=/folder`) and TLS parameters.
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      ...(pooled ? {} : begins),
      application_name: options.sessionName ?? "records",
      onConnect: (client: pg.ClientBase) => prepare(client, () => silence.found()),
    },
  });
  const pool = await orm.driver.getConnection().getNativeClient();
  guardPool(pool, silence, poolWaitMs);
  const lent = pooled ? transactionPooling({ role: "none", search_path: "public", ...begins }) : undefined;
  const close = async () => {
    silence.close();
    await orm.close();
    probe.close();
  };
  return {
    database: new Database({ pool, entities: orm.em, pooling: lent }),
    isSilent: () => silence.isSilent,
    close,
  };
}

function databaseOf(url: string): string {
  return decodeURIComponent(new URL(url.replace("@/", "@localhost/")).pathname.slice(1)) || "postgres";
}

/**
 * A connection begins as its login whatever the login's own settings say: whoever had its password once may have left some
 * there (PostgreSQL lets every login change its own), and a role among them would show all tenants in a tenant's scope.
 */
const beginPlainly = "set role none; set search_path = public";

/** Runs before the pool hands a new connection out, so that ScopedQuery may rely on these statements. */
async function prepareConnection(client: pg.ClientBase, onSilence: () => void): Promise<void> {
  guardConnection(client, onSilence);
  const prepared = Object.values(scopeStatements).map(({ name, text }) => `prepare ${name} as ${text}`);
  await client.query([beginPlainly, ...prepared].join("; "));
}

/**
 * What a pooler lends may be another connection for each transaction: nothing can be left on it, so each transaction says
 * how it begins (ScopedQuery, sessionOf), and statements that libraries plan under a name go without.
 */
async function prepareLent(client: pg.ClientBase, onSilence: () => void): Promise<void> {
  guardConnection(client, onSilence);
  const query = client.query.bind(client);
  // The driver's overloads are many; all that is read or changed here is the name of the first argument.
  const unnamed = (first: unknown, ...rest: unknown[]) => {
    if (typeof first === "object" && first !== null && "name" in first) first.name = undefined;
    return (query as (...args: unknown[]) => unknown)(first, ...rest);
  };
  Object.assign(client, { query: unnamed });
}

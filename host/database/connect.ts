// The single ORM of a process and its connection pool (several MikroORM instances in one process have lost writes).
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
 * A process that is suspended in the middle of a change keeps its row locks, and the tenant's other requests wait for it. No code
 * of this program takes that long between two statements.
 */
const idleInTransactionMsMax = 1_500;

export interface ConnectOptions {
  url: string;
  poolMax: number;
  /** How long a statement waits for a connection when all are in use, in milliseconds; default 1,000. */
  poolWaitMs?: number;
  entities: readonly EntitySchema[];
  statementTimeoutMs: number;
  /** Whether the URL leads to a pooler in transaction mode. */
  pooled?: boolean;
  /** The application_name of the sessions. Its first word is `records`, which is also the default. */
  sessionName?: string;
}

export interface Connected {
  database: Database;
  /** Whether the server has stopped answering: then statements are refused at once until it answers again. */
  isSilent(): boolean;
  close(): Promise<void>;
}

/** Opens the pool. It connects at the first statement. */
export async function connect(options: ConnectOptions): Promise<Connected> {
  const { url, poolMax, poolWaitMs = 1_000, pooled = false } = options;
  const begins = {
    statement_timeout: String(options.statementTimeoutMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMsMax),
  };
  const probe = new PostgresProbe(url);
  const silence = new ServerSilence(async () => {
    const answers = await probe.answers();
    // Rarely needed, so it keeps no connection open meanwhile.
    if (answers) probe.close();
    return answers;
  });
  const prepare = pooled ? preparePooled : prepareConnection;
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
      // The driver parses the URL, because it also knows sockets (`?host=/folder`) and TLS parameters.
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
 * Resets the login's own settings at the start of a connection. PostgreSQL lets every login change its settings, so somebody who
 * once had the password may have left some; a role among them would show all tenants in a tenant's scope.
 */
const resetSession = "set role none; set search_path = public";

/** Runs before the pool hands out a new connection: ScopedQuery relies on these prepared statements. */
async function prepareConnection(client: pg.ClientBase, onSilence: () => void): Promise<void> {
  guardConnection(client, onSilence);
  const prepared = Object.values(scopeStatements).map(({ name, text }) => `prepare ${name} as ${text}`);
  await client.query([resetSession, ...prepared].join("; "));
}

/**
 * A pooler may use another connection for each transaction, so no state can be kept on it. Each transaction makes its own
 * settings (ScopedQuery, sessionOf), and statements that libraries name are sent without a name.
 */
async function preparePooled(client: pg.ClientBase, onSilence: () => void): Promise<void> {
  guardConnection(client, onSilence);
  const query = client.query.bind(client);
  // The driver has many overloads; only the name of the first argument is read or changed here.
  const unnamed = (first: unknown, ...rest: unknown[]) => {
    if (typeof first === "object" && first !== null && "name" in first) first.name = undefined;
    return (query as (...args: unknown[]) => unknown)(first, ...rest);
  };
  Object.assign(client, { query: unnamed });
}

// The embedded PostgreSQL 18: a child process on <DATA_DIR>/postgres, reachable only by a unix socket. It survives a kill -9 of
// this process. The next start stops it and starts a new one, which has all committed data.

import { rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { serverAccount } from "./account.ts";
import { postgresPrograms } from "./binaries.ts";
import { ensureCluster } from "./cluster.ts";
import { stopLeftover } from "./leftover.ts";
import { launchPostmaster, type Postmaster, type PostmasterOptions } from "./postmaster.ts";
import { explainExit } from "./server-output.ts";
import { clusterName, openSocketFolder } from "./socket-folder.ts";
import { errorCode, StartError } from "../../services/shared/start-error.ts";

const startMsMax = 60_000;
/** Extra time for a server that reports recovery: to stop it would only make the next start repeat the recovery. */
const recoveryMsMax = 600_000;
/** https://www.postgresql.org/docs/18/errcodes-appendix.html cannot_connect_now */
const startingUp = "57P03";
const pollMsMin = 10;
const pollMsMax = 250;
const retryMs = 100;
/** Only a part of the socket's name: the server does not listen on TCP. */
const port = 5432;

export type EmbeddedPostgres = {
  /** Folder of the unix socket. */
  host: string;
  port: number;
  user: string;
  password: string;
  url(database: string): string;
  processId: number;
  /** Stops the server and removes the socket folder; may be called again. */
  stop(): Promise<void>;
  /** Called with one sentence if the server ends without `stop()`. */
  onExit(callback: (reason: string) => void): void;
};

export type EmbeddedOptions = {
  dataDir: string;
  superuser?: string;
  /** Becomes the superuser's password at the first start; later starts must pass the same. */
  password: string;
  /** Further server settings, "name=value": for example, a server of tests need not survive a power cut. */
  settings?: readonly string[];
  /** Receives the server's log lines, for debug level: they hold no statements and no values. */
  log: (message: string) => void;
};

type Credentials = { host: string; port: number; user: string; password: string };

/**
 * Starts the server and resolves when it accepts connections, within 60 s (10 min more for recovery after a crash). The caller
 * must hold the lock of `dataDir` (openDataDirectory).
 * @throws StartError with one sentence: damaged folder, disk full, no programs for this platform
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const deadline = performance.now() + startMsMax;
  const dataDir = resolve(options.dataDir);
  const name = clusterName(dataDir);
  const clusterFolder = join(dataDir, "postgres");
  const account = await serverAccount(clusterFolder);
  const programs = await postgresPrograms(dataDir, account);
  await stopLeftover(clusterFolder, name, options.log);
  const socketFolder = await openSocketFolder(dataDir, account);
  const login = {
    host: socketFolder,
    port,
    user: options.superuser ?? "postgres",
    password: options.password,
  };
  const place = { clusterFolder, socketFolder, programs, account };
  try {
    await ensureCluster(place, login, Math.max(1, Math.round(deadline - performance.now())));
    const { settings = [], log } = options;
    const launch = { ...place, port, clusterName: name, settings, log };
    return running(await launchUntilReady(launch, login, deadline), login);
  } catch (error) {
    await rm(socketFolder, { recursive: true, force: true });
    throw error;
  }
}

// If only the postmaster was killed, its children need a moment to notice. Until then PostgreSQL refuses to share their memory:
// this failure is retried until the deadline, any other is final.
async function launchUntilReady(
  launch: PostmasterOptions,
  login: Credentials,
  deadline: number,
): Promise<Postmaster> {
  for (;;) {
    const server = launchPostmaster(launch);
    try {
      await waitUntilReady(server, login, deadline);
      return server;
    } catch (error) {
      await server.stop();
      const inUse = server.tail.some((line) => line.includes("pre-existing shared memory block"));
      if (!inUse || performance.now() + retryMs > deadline) throw error;
    }
    await delay(retryMs);
  }
}

async function waitUntilReady(server: Postmaster, login: Credentials, deadline: number): Promise<void> {
  for (let pollMs = pollMsMin; ; pollMs = Math.min(pollMs * 1.5, pollMsMax)) {
    const ending = server.ending();
    if (ending !== undefined) throw explainExit("postgres", ending, server.tail);
    const failure = await tryConnection(login);
    if (failure === undefined) return;
    if (["28P01", "28000"].includes(failure)) {
      throw new StartError(
        "The embedded PostgreSQL refuses the password: its folder was made with another one.",
      );
    }
    const limit = failure === startingUp ? deadline + recoveryMsMax : deadline;
    if (performance.now() > limit) {
      throw new StartError(`The embedded PostgreSQL does not become ready (${failure}).`);
    }
    await Promise.race([delay(pollMs), server.ended]);
  }
}

/** @returns undefined if the server answers, otherwise the code of the failure */
async function tryConnection(login: Credentials): Promise<string | undefined> {
  const client = new pg.Client({ ...login, database: "postgres", connectionTimeoutMillis: 5_000 });
  // A connection that breaks after the answer is not a failure of the query.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("SELECT 1");
    return undefined;
  } catch (error) {
    return errorCode(error) || "unknown";
  } finally {
    await client.end().catch(() => undefined);
  }
}

function running(server: Postmaster, login: Credentials): EmbeddedPostgres {
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await server.stop();
    await rm(login.host, { recursive: true, force: true });
  };
  return {
    ...login,
    url(database) {
      const [host, user, password] = [login.host, login.user, login.password].map(encodeURIComponent);
      return `postgresql://${user}:${password}@${host}:${port}/${encodeURIComponent(database)}`;
    },
    processId: server.processId,
    stop: () => (stopping ??= stop()),
    onExit(callback) {
      void server.ended.then(() => {
        if (!stopping) callback(`The embedded PostgreSQL ended by itself (${server.ending()}).`);
      });
    },
  };
}

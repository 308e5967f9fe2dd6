// A real PgBouncer for tests, which lends a connection for one transaction, on a free loopback port.
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, takesConnections } from "./nats.ts";
import { findProgram, restartable } from "./programs.ts";
import { passwordOf } from "../../host/database/application-login.ts";
import { eventually, type RunningProcess, runProcess, type TestDatabase } from "./service.ts";

export const program = findProgram("pgbouncer");

export interface PgBouncer {
  port: number;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** Again on the same port. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Upstream {
  /** Folder of PostgreSQL's socket. */
  host: string;
  port: number;
  database: string;
  /** Passwords by login. */
  logins: Readonly<Record<string, string>>;
  connectionsPerLogin: number;
}

/** PgBouncer takes TLS only, with this certificate, which is its own authority; it is for localhost and 127.0.0.1. */
export const authority = join(import.meta.dirname, "../unit/services/mail/certificate/certificate.pem");
const certificateKey = join(import.meta.dirname, "../unit/services/mail/certificate/key.pem");

export async function startPgBouncer(upstream: Upstream): Promise<PgBouncer> {
  if (program === undefined) throw new Error("no pgbouncer on PATH");
  const { host, port: serverPort, database, logins, connectionsPerLogin } = upstream;
  const folder = await mkdtemp(join(tmpdir(), "records-pgbouncer-"));
  // PostgreSQL's socket is for its own account, which is another one where tests run as root (PgBouncer refuses that).
  const { uid, gid } = await stat(host);
  await chmod(folder, 0o755);
  const port = await freePort();
  const users = join(folder, "users.txt");
  const file = join(folder, "pgbouncer.ini");
  await writeFile(
    users,
    Object.entries(logins)
      .map(([name, password]) => `"${name}" "${password}"\n`)
      .join(""),
  );
  await writeFile(
    file,
    `[databases]
${database} = host=${host} port=${serverPort} connect_query='set role none; set search_path = public'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${connectionsPerLogin}
max_client_conn = 500
client_tls_sslmode = require
client_tls_cert_file = ${join(folder, "certificate.pem")}
client_tls_key_file = ${join(folder, "key.pem")}
server_login_retry = 1
`,
  );
  // Where it may read them, whatever account it runs as.
  for (const [from, to] of [
    [authority, "certificate.pem"],
    [certificateKey, "key.pem"],
  ] as const)
    await writeFile(join(folder, to), await readFile(from));
  const isThere = () => eventually(() => takesConnections(port));
  const { start, end } = restartable(program, ["-q", file], isThere, { uid, gid });
  await start();
  return {
    port,
    kill: () => end("SIGKILL"),
    start,
    stop: async () => {
      await end("SIGTERM");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Pooled {
  /** Stops PgBouncer too. */
  running: RunningProcess;
  pgBouncer: PgBouncer;
  /** The services' login, through PgBouncer. */
  appUrl: string;
}

/** The service on connections that a pooler lends; of its login there are `lentMax`, whatever the process asks for. */
export async function startPooled(
  { postgres }: TestDatabase,
  settings: Record<string, string>,
  lentMax = 5,
): Promise<Pooled> {
  const { DATABASE_APP_URL: _none, ...all } = settings;
  const database = "records";
  const login = `${database}_login`;
  const password = passwordOf("login", database, { kinds: [], passwords: {} }, all["BOOT_SECRET"]);
  const pgBouncer = await startPgBouncer({
    ...postgres,
    database,
    logins: { [login]: password },
    connectionsPerLogin: lentMax,
  });
  const address = `127.0.0.1:${pgBouncer.port}/${database}?sslmode=verify-full&sslrootcert=${authority}`;
  const running = runProcess({
    ...all,
    DATABASE_APP_URL: `postgresql://${address}`,
    DATABASE_POOLER: "transaction",
  });
  const stop: RunningProcess["stop"] = async (signal) => {
    const code = await running.stop(signal);
    await pgBouncer.stop();
    return code;
  };
  return { running: { ...running, stop }, pgBouncer, appUrl: `postgresql://${login}:${password}@${address}` };
}

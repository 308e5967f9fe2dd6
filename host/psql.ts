// `npm run psql`: opens the embedded database as its owner, who may read and change everything. Changes are refused unless
// --write is given: they leave no audit entries. Without psql on this machine, or with --url, it prints the address for any other
// client. The service may be running; otherwise the server runs as long as this program.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fail } from "./fail.ts";
import { readConfig } from "./settings/config.ts";
import { openDataDirectory } from "./embedded/data-directory.ts";
import { startEmbeddedPostgres } from "./embedded/postgres.ts";
import { readSecret } from "./embedded/secrets.ts";
import { errorCode, StartError } from "../services/shared/start-error.ts";

const database = "records";
const user = "postgres";
const options = { url: { type: "boolean" }, write: { type: "boolean" } } as const;

async function psql(env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options });
  const { DATA_DIR } = env;
  const { dataDir } = readConfig(DATA_DIR === undefined ? {} : { DATA_DIR });
  const password = await readSecret(dataDir, "postgres");
  if (password === undefined)
    throw new StartError(`There is no embedded database in ${dataDir}: \`npm start\` makes one.`);
  const place = await runningServer(dataDir);
  if (place !== undefined) return runPsql(env, place, password, values);
  const directory = await openDataDirectory(dataDir);
  try {
    const server = await startEmbeddedPostgres({ dataDir, superuser: user, password, log: () => {} });
    try {
      await runPsql(env, server, password, values, true);
    } finally {
      await server.stop();
    }
  } finally {
    await directory.release();
  }
}

interface ServerAddress {
  /** Folder of the socket. */
  host: string;
  port: number;
}

/** @returns the address of a running server of the folder, from PostgreSQL's own pid file */
async function runningServer(dataDir: string): Promise<ServerAddress | undefined> {
  const noted = await readFile(join(dataDir, "postgres/postmaster.pid"), "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return "";
    throw new StartError(`${dataDir} may not be read by this account.`, { cause: error });
  });
  const [pid = "", , , port = "", host = ""] = noted.split("\n");
  return host !== "" && isAlive(Number(pid)) ? { host, port: Number(port) } : undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

async function runPsql(
  { PATH = "", HOME = "", TERM = "", PAGER = "", LANG = "" }: NodeJS.ProcessEnv,
  { host, port }: ServerAddress,
  password: string,
  { url: urlOnly = false, write = false }: { url?: boolean; write?: boolean },
  ours = false,
): Promise<void> {
  const address = `postgresql://${user}:${encodeURIComponent(password)}@${encodeURIComponent(host)}:${port}/${database}`;
  if (urlOnly) return printAddress(`${address}\n`, ours);
  const readOnly = write ? {} : { PGOPTIONS: "-c default_transaction_read_only=on" };
  const known = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
  };
  // Input may contain names of people, so no history is kept.
  const env = { PATH, HOME, TERM, PAGER, LANG, PSQL_HISTORY: "/dev/null", ...known, ...readOnly };
  const child = spawn("psql", [], { env, stdio: "inherit" });
  // Ctrl-C cancels the statement and does not end the program.
  const stay = () => {};
  process.on("SIGINT", stay);
  const failure = await new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(errorCode(error)));
    child.once("close", (code) => {
      process.exitCode = code ?? 1;
      resolve("");
    });
  });
  process.off("SIGINT", stay);
  if (failure === "") return;
  const advice =
    "psql (of PostgreSQL 18) is not installed. Any client on this machine reaches the database at:";
  await printAddress(`${advice}\n${address}\n`, ours);
}

/** @param ours whether the server stops with this program */
async function printAddress(text: string, ours: boolean): Promise<void> {
  process.stdout.write(text);
  if (!ours) return;
  process.stderr.write("The database runs until Ctrl-C.\n");
  // A pending promise alone does not keep a process alive.
  const alive = setInterval(() => {}, 60_000);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => resolve());
  });
  clearInterval(alive);
}

await psql(process.env, process.argv.slice(2)).catch((error: unknown) => fail(error));

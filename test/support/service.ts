// The whole service as a child process on an embedded PostgreSQL of its own, as a black box for API tests: start it
// with startService(), talk to it with call() and signIn(), look into its log and (as the owner) its database.
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import pg from "pg";
import { refusalFaults, routeOf } from "./refusals.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../host/embedded/postgres.ts";
import type { FaultCode } from "../../mixins/healing/catalogue.ts";
import type { HealingWatch } from "./healing-watch.ts";
import { type DatabaseFolder, makeDatabaseFolder } from "./folders.ts";
import { copyTemplate } from "./template.ts";

const root = join(import.meta.dirname, "../..");
// Generous: a busy machine is slow, and only what never comes waits so long.
const startMsMax = 120_000;
const stopMsMax = 60_000;
const serverLogMax = 1_000_000;

export const demoPassword = "Open-Sesame-4711";
export const people = {
  superadmin: ["admin@platform.example", "platform"],
  admin: ["admin@demo.example", "demo"],
  head_doctor: ["head@demo.example", "demo"],
  doctor: ["doctor@demo.example", "demo"],
  nurse: ["nurse@demo.example", "demo"],
  registrar: ["registrar@demo.example", "demo"],
} as const;

/**
 * What a log says of faults of ours: a process that gave up, or a request that was answered 500. A statement that took too
 * long on a busy machine is told as 503, and is none. @returns at most ten lines
 */
export const brokenInside = (log: string): string[] =>
  log
    .split("\n")
    .filter((line) => /"level":"fatal"|"status":500|internal_error|^\S*Error: /.test(line))
    .slice(0, 10);

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
  headers: Headers;
}

export interface CallOptions {
  token?: string;
  /** Sent as JSON, unless it is a string or bytes: those go as they are. */
  body?: unknown;
  headers?: Record<string, string>;
}

/** Every refusal that a test meets is one that the description of its operation names. */
function assertDescribed(method: string, path: string, status: number, body: unknown): void {
  const route = status < 400 ? undefined : routeOf(method, path);
  if (route === undefined || status === 405 || status === 500) return;
  const [fault] = refusalFaults(route, status, body);
  if (fault !== undefined) throw new Error(fault);
}

export async function callApi(
  url: string,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { token, body, headers = {} } = options;
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(`${url}${path}`, {
    method,
    redirect: "manual",
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: raw ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const { status } = response;
  const read = isJson && text !== "" ? JSON.parse(text) : text;
  assertDescribed(method, path, status, read);
  return { status, body: read, headers: response.headers };
}

export interface RunningProcess {
  child: ChildProcess;
  /** Everything it has printed so far. */
  output(): string;
  /** Resolves when the output matches; rejects when the process ends or time is up. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  exited: Promise<number | null>;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Runs `node host/start.ts` (or another program) with exactly these settings (and PATH, HOME).
 * @param through a command that becomes the one that follows it, e.g. nsenter
 */
export function runProcess(
  env: Record<string, string>,
  program = "host/start.ts",
  args: readonly string[] = [],
  through: readonly string[] = [],
): RunningProcess {
  const { PATH = "", HOME = "" } = process.env;
  const [command = process.execPath, ...rest] = [...through, process.execPath, program, ...args];
  const child = spawn(command, rest, {
    cwd: root,
    env: { PATH, HOME, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const watchers = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
      for (const look of watchers) look();
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  const printed = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => done(`did not print ${pattern} in time`), startMsMax);
      const done = (failure?: string, found?: RegExpExecArray) => {
        clearTimeout(late);
        watchers.delete(look);
        if (found !== undefined) resolve(found);
        else reject(new Error(`the service ${failure}:\n${output}`));
      };
      const look = () => {
        const found = pattern.exec(output);
        if (found !== null) done(undefined, found);
      };
      watchers.add(look);
      void exited.then((code) => watchers.has(look) && done(`ended with ${code}`));
      look();
    });
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    child.kill(signal);
    const late = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
    const code = await exited;
    clearTimeout(late);
    return code;
  };
  return { child, output: () => output, printed, exited, stop };
}

export interface TestDatabase {
  postgres: EmbeddedPostgres;
  /** Sees and may do everything: a superuser, who also bypasses row-level security. */
  owner: pg.Client;
  url: string;
  folder: string;
  /** What the server has logged so far. */
  serverLog(): string;
  /** Resolves when the server's log has this text. */
  serverLogged(text: string): Promise<void>;
  stop(): Promise<void>;
}

const databaseName = "records";
/**
 * A killed server loses nothing by these: what it wrote is with the operating system. Only a power cut would tell, and no
 * test waits for the disk. Reading needs no processes of its own either.
 */
const hastySettings = ["fsync=off", "full_page_writes=off", "io_method=sync"];

/** An empty database on a server of its own. */
export async function startDatabase(name = databaseName): Promise<TestDatabase> {
  const forCopy = name === databaseName;
  const folder = await makeDatabaseFolder({ forCopy });
  if (forCopy) await copyTemplate("empty", folder.path, buildEmpty);
  return openDatabase(folder, name);
}

/** A database that has the schema and the demo data, as a first start with `testSettings` leaves it. */
export async function startDemoDatabase(): Promise<TestDatabase> {
  const folder = await makeDatabaseFolder({ forCopy: true });
  await copyTemplate("demo", folder.path, buildDemo);
  return openDatabase(folder, databaseName);
}

async function buildEmpty(folder: DatabaseFolder): Promise<void> {
  const database = await openDatabase(folder, databaseName);
  await database.close();
}

async function buildDemo(folder: DatabaseFolder): Promise<void> {
  await copyTemplate("empty", folder.path, buildEmpty);
  const database = await openDatabase(folder, databaseName);
  const running = runProcess(testSettings(database));
  await addressOf(running);
  await running.stop();
  await database.close();
}

async function openDatabase(
  folder: DatabaseFolder,
  name: string,
): Promise<TestDatabase & { close(): Promise<void> }> {
  let log = "";
  const postgres = await startEmbeddedPostgres({
    dataDir: folder.path,
    password: "owner-password-of-tests",
    // The bench measures a server as operators have it.
    settings: name === databaseName ? hastySettings : [],
    log: (line) => {
      log = `${log}${line}\n`.slice(-serverLogMax);
    },
  });
  const first = new pg.Client({ connectionString: postgres.url("postgres") });
  await first.connect();
  const { rowCount } = await first.query("select from pg_database where datname = $1", [name]);
  if (rowCount === 0) await first.query(`create database ${pg.escapeIdentifier(name)}`);
  await first.end();
  const url = postgres.url(name);
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  const close = async () => {
    await owner.end();
    await postgres.stop();
  };
  return {
    postgres,
    owner,
    url,
    folder: folder.path,
    serverLog: () => log,
    serverLogged: (text) => eventually(async () => log.includes(text)).then(() => undefined),
    close,
    async stop() {
      await close();
      await folder.remove();
    },
  };
}

/** Settings of a demo installation on `database` whose rates are too high to be met by accident. */
export function testSettings(database: Pick<TestDatabase, "url" | "folder">): Record<string, string> {
  return {
    DATABASE_URL: database.url,
    DATA_DIR: join(database.folder, "data"),
    PORT: "0",
    PUBLIC_URL: "http://records.test",
    JWT_SECRET: createHash("sha256").update("jwt").digest("base64url"),
    BOOT_SECRET: createHash("sha256").update("boot").digest("base64url"),
    BUS_SECRET: createHash("sha256").update("bus").digest("base64url"),
    DEMO_MODE: "true",
    // A busy machine is slow; what a full pool answers has a test of its own.
    DATABASE_POOL_WAIT_MS: "5000",
    RATE_LOGIN_PER_MINUTE: "100000",
    RATE_REGISTER_PER_MINUTE: "100000",
    RATE_MAIL_PER_MINUTE: "100000",
    RATE_UNSIGNED_PER_MINUTE: "100000",
    RATE_REQUESTS_PER_MINUTE: "10000000",
    RATE_TENANT_REQUESTS_PER_MINUTE: "10000000",
    RATE_ANONYMOUS_PER_MINUTE: "10000000",
    RATE_NOTIFICATIONS_PER_MINUTE: "10000000",
    LOG_LEVEL: "info",
  };
}

export interface TestService {
  url: string;
  database: TestDatabase;
  process: RunningProcess;
  settings: Record<string, string>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** @returns a fresh access token */
  signIn(who: keyof typeof people): Promise<string>;
  signInAs(email: string, subdomain: string, password?: string): Promise<string>;
  /** What the test breaks itself: not mended where all fixes are confirmed beside it (healing-watch.ts). */
  provokes(...codes: FaultCode[]): Promise<void>;
  stop(): Promise<void>;
}

/** Settings that decide of the first data: a start with one of them begins with an empty database. */
const firstSettings = ["BOOT_SECRET", "DEMO_MODE", "DEFAULT_REGISTRATION", "SERVICES"];

export type Run = (database: TestDatabase, settings: Record<string, string>) => Promise<RunningProcess>;

/** As one process; in several, or on connections that a pooler lends, where the whole suite is to be run so. */
const runAsAsked: Run = async (database, settings) => {
  if (process.env["RECORDS_TEST_APART"] === "1")
    return (await import("./apart.ts")).startApart(database, settings);
  if (process.env["RECORDS_TEST_POOLER"] === "1")
    return (await (await import("./pgbouncer.ts")).startPooled(database, settings)).running;
  return runProcess(settings);
};

/** Starts on the demo data, made before; `isFirst` makes them in this very start. */
export async function startService(
  settings: Record<string, string> = {},
  { isFirst = false, run = runAsAsked }: { isFirst?: boolean; run?: Run } = {},
): Promise<TestService> {
  const isEmpty = isFirst || firstSettings.some((name) => name in settings);
  const database = await (isEmpty ? startDatabase() : startDemoDatabase());
  const all = { ...testSettings(database), ...settings };
  const running = await run(database, all);
  const url = await addressOf(running).catch(async (error: unknown) => {
    await running.stop("SIGKILL");
    await database.stop();
    throw error;
  });
  const call = (method: string, path: string, options?: CallOptions) => callApi(url, method, path, options);
  const signInAs = async (email: string, subdomain: string, password = demoPassword): Promise<string> => {
    // 503: a machine so busy that no password could be looked at; who signs in to test something else comes again.
    const answer = await eventually(async () => {
      const given = await call("POST", "/api/auth/login", { body: { email, password, subdomain } });
      return given.status !== 503 && given;
    });
    if (answer.status !== 200) throw new Error(`sign-in of ${email} answered ${answer.status}`);
    return answer.body.access_token;
  };
  const watch = await watched(database, all);
  return {
    url,
    database,
    process: running,
    settings: all,
    call,
    signInAs,
    provokes: async (...codes) => watch?.provokes(...codes),
    signIn: (who) => {
      const [email, subdomain] = people[who];
      return signInAs(email, subdomain);
    },
    async stop() {
      try {
        await watch?.end();
      } finally {
        await running.stop();
        await database.stop();
      }
    },
  };
}

async function watched(
  { url }: TestDatabase,
  { SERVICES: some }: Record<string, string>,
): Promise<HealingWatch | undefined> {
  if (process.env["RECORDS_TEST_HEALING"] !== "1" || some !== undefined) return undefined;
  return (await import("./healing-watch.ts")).watchHealing(url);
}

export async function addressOf(running: RunningProcess): Promise<string> {
  const [, address, inProduction = ""] = await running.printed(
    /API {3}(http:\/\/\S+)\/api|"listening":"([^"]+)"/,
  );
  return address ?? inProduction;
}

/** Waits until `look` answers something other than undefined, null or false. */
export async function eventually<T>(
  look: () => Promise<T | undefined | null | false>,
  msMax = 60_000,
): Promise<T> {
  const deadline = performance.now() + msMax;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > deadline)
      throw new Error(`did not come true within ${msMax} ms: ${String(look)}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

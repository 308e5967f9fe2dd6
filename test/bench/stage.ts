// Everything the parts of the bench share: one embedded PostgreSQL, databases on it, the service and the bare program
// as processes of their own. What was opened is closed in reverse order, also when the bench is interrupted.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import manifest from "../../package.json" with { type: "json" };
import { startDatabase, type TestDatabase, testSettings } from "../support/service.ts";
import type { Cores } from "./cores.ts";
import { childrenOf } from "./cpu.ts";
import { Load } from "./load.ts";
import { type ProgramOptions, type StartedProgram, startProgram, stopChildren } from "./program.ts";
import { childProgram } from "./task.ts";

export interface Scene {
  database: string;
  ownerUrl: string;
  owner: pg.Client;
  service: StartedProgram;
  /** http://127.0.0.1:<port> */
  url: string;
  settings: Record<string, string>;
}

/** How much of everything: `full` is what BENCHMARKS.md publishes, `smallest` only shows that each part still runs. */
export type Size = "full" | "quick" | "smallest";

/** Requests of a round in the smallest form, which has no time of its own. */
const smallestRequests = 64;
const ready = /API {3}http:\/\/[^:]+:(\d+)\/api/;

export class Stage {
  readonly cores: Cores;
  readonly size: Size;
  readonly load: Load;
  readonly #folder: string;
  readonly #closing: (() => Promise<void>)[] = [];
  readonly #owners: pg.Client[] = [];
  readonly #shared = new Map<string, Promise<unknown>>();
  #server: TestDatabase | undefined;
  #closed: Promise<void> | undefined;

  private constructor(cores: Cores, size: Size, folder: string) {
    this.cores = cores;
    this.size = size;
    this.#folder = folder;
    this.load = new Load(cores, folder, size === "smallest" ? smallestRequests : undefined);
  }

  static async open(cores: Cores, size: Size): Promise<Stage> {
    const folder = await mkdtemp(join(tmpdir(), "records-bench-"));
    const stage = new Stage(cores, size, folder);
    stage.#closing.push(() => rm(folder, { recursive: true, force: true }));
    stage.#server = await startDatabase("bench");
    stage.#closing.push(() => stage.#server?.stop() ?? Promise.resolve());
    return stage;
  }

  /** One of three amounts, by the size of this run. */
  pick<T>(full: T, quick: T, smallest: T): T {
    return { full, quick, smallest }[this.size];
  }

  get rounds(): number {
    return this.pick(5, 3, 1);
  }

  get roundSeconds(): number {
    return this.pick(3, 1, 0.3);
  }

  get postgresId(): number {
    return this.#opened.postgres.processId;
  }

  /** The server and its children of this moment: what it starts later has what it has. */
  postgresIds(): number[] {
    return [this.postgresId, ...childrenOf(this.postgresId)];
  }

  get #opened(): TestDatabase {
    if (this.#server === undefined) throw new Error("the stage is not open");
    return this.#server;
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  /** Made by the first part that asks, and left standing for the others. */
  shared<T>(name: string, make: () => Promise<T>): Promise<T> {
    const made = this.#shared.get(name) ?? make();
    this.#shared.set(name, made);
    // The name stands for one type: each is asked for in one place only.
    return made as Promise<T>;
  }

  /** A database of its own on the shared server, and the service on it, with its log in a file at the default level. */
  async scene(database: string): Promise<Scene> {
    const server = this.#opened;
    await server.owner.query(`create database ${pg.escapeIdentifier(database)}`);
    const ownerUrl = server.postgres.url(database);
    const settings = testSettings({ url: ownerUrl, folder: this.path(database) });
    const service = await this.startService(settings, `${database}.log`);
    const owner = new pg.Client({ connectionString: ownerUrl });
    await owner.connect();
    this.#owners.push(owner);
    this.#closing.push(() => owner.end());
    return { database, ownerUrl, owner, service, url: `http://127.0.0.1:${service.captured}`, settings };
  }

  /** What one part has left for PostgreSQL to tidy up must not be counted in the next. */
  async settle(): Promise<void> {
    for (const owner of this.#owners) await owner.query("vacuum (analyze)");
    await this.#opened.owner.query("checkpoint");
  }

  /**
   * @param bothCores as on a machine that does nothing else, for the start-up's time
   * @param readiness its first group is `captured`: the port, unless another is given
   */
  async startService(
    settings: Record<string, string>,
    log: string,
    bothCores = false,
    readiness = ready,
  ): Promise<StartedProgram> {
    const plain = [process.execPath, ...startArguments()] as const;
    const command = bothCores ? this.cores.onBothCores(plain) : plain;
    return this.#start({ command, env: settings, outputFile: this.path(log) }, readiness);
  }

  startBare(ownerUrl: string): Promise<StartedProgram> {
    return this.startProgram("bare.ts", ownerUrl);
  }

  /** A program of this folder that works on a database and prints `bare <its address>`. */
  async startProgram(file: string, ownerUrl: string): Promise<StartedProgram> {
    const options = {
      command: childProgram(file),
      env: { DATABASE_URL: ownerUrl, NODE_ENV: "production" },
      outputFile: this.path(`${file}.log`),
    };
    return this.#start(options, /bare (http:\S+)/);
  }

  #start(options: ProgramOptions, ready: RegExp): Promise<StartedProgram> {
    if (this.#closed !== undefined) throw new Error("interrupted");
    return startProgram(options, ready);
  }

  /** Once, however often it is called: an interruption and the part that it makes fail both ask for it. */
  close(): Promise<void> {
    this.#closed ??= (async () => {
      await stopChildren();
      for (const close of this.#closing.splice(0).reverse()) {
        await close().catch((error: unknown) => process.stderr.write(`closing failed: ${String(error)}\n`));
      }
    })();
    return this.#closed;
  }
}

/** Node's arguments as `npm start` has them, behind whatever the script does before. */
function startArguments(): string[] {
  const [, words] = /(?:^|&& )exec node ([^&|;()]+)$/.exec(manifest.scripts.start) ?? [];
  if (words === undefined)
    throw new Error("npm start does not end with `exec node …`: see test/bench/stage.ts");
  return words.split(" ");
}

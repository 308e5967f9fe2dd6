// The objects that exist once per process, whatever services run in it: settings, secrets, database, keys, password threads, log.
// Created by the broker configuration, opened before the first service starts, closed after the last one has stopped.
import { join } from "node:path";
import type { EntitySchema } from "@mikro-orm/core";
import type { Logger } from "pino";
import type { Dropped } from "../../services/shared/bus/bus-seal.ts";
import { setBusKey } from "../../services/shared/caller.ts";
import { Comparison } from "../consistency/comparison.ts";
import type { Config } from "../settings/settings.ts";
import { postgresEnvironment } from "../settings/config.ts";
import { connect } from "../database/connect.ts";
import { assertOneBus, sessionNameFor } from "../database/one-bus.ts";
import type { Database } from "../../services/shared/database/database.ts";
import { assertTenantIsolation } from "../../services/shared/database/guard.ts";
import { assertLogin } from "../database/guard-login.ts";
import { watchSlowStatements } from "../../services/shared/database/statement-watch.ts";
import { type DataDirectory, openDataDirectory } from "../embedded/data-directory.ts";
import { loadOrCreateSecrets, readSecret } from "../embedded/secrets.ts";
import { levelsOf } from "../../services/shared/log-levels.ts";
import { Tracing } from "../tracing/open-tracing.ts";
import { type BusTraffic, noTraffic } from "../metrics/bus-metrics.ts";
import { ProcessMetrics } from "../metrics/process-metrics.ts";
import { CallsForOthers } from "./calls-for-others.ts";
import { type DemoPasswords, demoPasswords, demoSecret } from "./demo-passwords.ts";
import { needsOwnPassword } from "../../services/shared/demo-sign-in.ts";
import { PasswordHasher } from "../../services/shared/passwords/password-hasher.ts";
import { KeyCache } from "../../services/shared/sealing/key-cache.ts";
import { prepareDatabase } from "./prepare-database.ts";
import { Secrets, secretsToGenerate } from "./secrets.ts";
import { ProcessPhases } from "./process-phases.ts";

const statementTimeoutMs = 5_000;

/** Most members throw before `open`. */
export class Runtime {
  readonly config: Config;
  readonly log: Logger;
  readonly hasher: PasswordHasher;
  /** undefined unless METRICS_PORT is set: then nothing is measured. */
  readonly metrics: ProcessMetrics | undefined;
  /** Counts messages on the bus that were rejected. */
  readonly droppedMessages: Dropped = { foreign: 0, stale: 0, repeated: 0, other_start: 0 };
  readonly busTraffic: BusTraffic = noTraffic();
  readonly callsForOthers = new CallsForOthers();
  /** The tenants' keys, for services that encrypt. */
  readonly keys: KeyCache;
  readonly phases = new ProcessPhases();
  /** Compares the settings with those of other processes. */
  readonly comparison = new Comparison(this);
  readonly tracing = new Tracing();
  readonly postgresEnvironment = postgresEnvironment();
  #secrets: Secrets | undefined;
  #demoPasswords: DemoPasswords | undefined;
  #database: Database | undefined;
  #isDatabaseSilent = () => false;
  #closing: (() => Promise<void>)[] = [];
  #closed: Promise<void> | undefined;
  #connectedTo: string | undefined;

  constructor(config: Config, log: Logger) {
    this.config = config;
    this.log = log;
    this.keys = new KeyCache({ cachedMsMax: config.keysHeldSeconds * 1000 });
    this.hasher = new PasswordHasher({ workers: config.argon2Workers, queueMax: config.argon2QueueMax });
    this.metrics = config.metricsPort === undefined ? undefined : new ProcessMetrics(this);
  }

  get secrets(): Secrets {
    if (this.#secrets === undefined) throw new Error("the runtime is not open yet");
    return this.#secrets;
  }

  get demoPasswords(): DemoPasswords {
    if (this.#demoPasswords === undefined) throw new Error("the runtime is not open yet");
    return this.#demoPasswords;
  }

  get database(): Database {
    if (this.#database === undefined)
      throw new Error("no service of this process declared that it uses the database");
    return this.#database;
  }

  /** Whether the database of this process does not answer. */
  get isDatabaseSilent(): boolean {
    return this.#isDatabaseSilent();
  }

  /** Whether the database lies in the data folder. */
  get keepsData(): boolean {
    return this.config.databaseUrl === undefined && this.config.databaseAppUrl === undefined;
  }

  /** The pool, once it is open. */
  get pool(): Database["pool"] | undefined {
    return this.#database?.pool;
  }

  /**
   * The URL of the application login with its password, for the health probe only. Undefined without a database or before `open`.
   */
  get databaseUrl(): string | undefined {
    return this.#connectedTo;
  }

  /**
   * @param entities of all local services; undefined if none of them uses the database
   * @param onFailure called when the embedded database ends by itself: then the process must end too
   */
  async open(
    entities: readonly EntitySchema[] | undefined,
    onFailure: (reason: string) => void,
  ): Promise<void> {
    const { config } = this;
    const embedded = entities !== undefined && this.keepsData;
    const names = [...secretsToGenerate(config, embedded), ...(needsOwnPassword(config) ? [demoSecret] : [])];
    const directory = names.length > 0 ? await this.#own(openDataDirectory(config.dataDir)) : undefined;
    const kept = directory === undefined ? {} : await loadOrCreateSecrets(directory.path, names);
    this.#secrets = new Secrets(config, kept);
    setBusKey(this.#secrets.bus);
    const keptDemo = config.demoMode ? await readSecret(config.dataDir, demoSecret) : undefined;
    this.#demoPasswords = demoPasswords(config, keptDemo);
    if (entities === undefined) return;
    const url = await prepareDatabase({
      config,
      secrets: this.#secrets,
      log: this.log,
      directory,
      password: kept.postgres,
      onFailure,
      closing: this.#closing,
    });
    const sessionName = sessionNameFor(config, this.#secrets.bus);
    const connected = await connect({
      url,
      poolMax: config.databasePoolMax,
      poolWaitMs: config.databasePoolWaitMs,
      entities,
      statementTimeoutMs,
      pooled: config.databasePooler === "transaction",
      sessionName,
    });
    this.#closing.push(() => connected.close());
    await assertTenantIsolation(connected.database);
    await assertOneBus(connected.database, sessionName);
    await assertLogin(connected.database, config, (excess) => this.log.warn(excess));
    watchSlowStatements(config.slowQueryMs, levelsOf(this.log).child("database"));
    this.#database = connected.database;
    this.#isDatabaseSilent = () => connected.isSilent();
    this.#connectedTo = url;
    this.#closing.push(() => this.hasher.close());
  }

  /** Closes everything in the reverse order of opening; may be called twice and after a failed `open`. */
  close(): Promise<void> {
    this.#closed ??= (async () => {
      this.keys.clear();
      for (const close of this.#closing.reverse()) {
        await close().catch((error: unknown) => this.log.error({ err: error }, "closing failed"));
      }
    })();
    return this.#closed;
  }

  async #own(opening: Promise<DataDirectory>): Promise<DataDirectory> {
    const directory = await opening;
    this.#closing.push(() => directory.release());
    return directory;
  }

  get mailDirectory(): string {
    return join(this.config.dataDir, "mail");
  }
}

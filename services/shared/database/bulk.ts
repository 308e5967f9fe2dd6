// A connection outside the pool for work that moves whole tables: COPY in both directions, in one transaction that may take long.
// Its scope is set when the transaction begins.
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { bulkSocket } from "./bulk-socket.ts";
import { CopyOut } from "./copy-out.ts";
import { restoreSuffix } from "./scope.ts";
import { platformRole, takeRole } from "./scope.ts";

const connectMsMax = 10_000;
/** For one COPY, or one statement over all rows of a tenant. */
const statementMsMax = 6 * 3_600_000;
/** For waiting on a lock: other holders release theirs within seconds. */
const lockMsMax = 15_000;

export interface BulkScope {
  /**
   * `platform`: all rows. `tenant`: the rows of one tenant. `restore`: the rows of one tenant, with the rights of a restore.
   * `owner`: the rights of the login itself, for programs that have the owner's login.
   */
  as: "platform" | "tenant" | "restore" | "owner";
  tenantId?: number;
  /** The restore job under which rows are staged. Its own freeze does not block it. */
  job?: string;
}

/** One connection with one transaction at a time. Errors of the driver are thrown unchanged. */
export class Bulk {
  readonly #client: pg.Client;
  readonly #signal: AbortSignal;
  readonly #abort: () => void;

  private constructor(client: pg.Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    // When the connection ends, the server rolls back everything that was not committed.
    this.#abort = () => void client.end().catch(() => undefined);
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  /** @param signal closes the connection and aborts the running statement */
  static async open(url: string, signal: AbortSignal): Promise<Bulk> {
    signal.throwIfAborted();
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectMsMax,
      application_name: "records-backups",
      keepAlive: true,
      // The driver passes its settings to this function; its types leave that out.
      stream: bulkSocket as () => Socket,
    });
    // A broken connection also fails the running statement; without a listener the event would end the process.
    client.on("error", () => {});
    const bulk = new Bulk(client, signal);
    try {
      await client.connect();
      return bulk;
    } catch (error) {
      await bulk.close();
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Begins a read-only snapshot of the whole database. Writers do not see it and do not wait for it. */
  async beginSnapshot(scope: BulkScope): Promise<void> {
    await this.#begin("begin isolation level repeatable read, read only", scope);
  }

  async beginChange(scope: BulkScope): Promise<void> {
    await this.#begin("begin", scope);
  }

  async #begin(statement: string, { as, tenantId, job }: BulkScope): Promise<void> {
    await this.#client.query(statement);
    await this.#client.query(
      // Set locally in the transaction: a pooler may lend the connection only for its duration.
      `select set_config('statement_timeout', $3, true), set_config('lock_timeout', $4, true),
         set_config('app.tenant_id', $1, true), set_config('app.restore_job', $2, true)`,
      [tenantId === undefined ? "" : String(tenantId), job ?? "", String(statementMsMax), String(lockMsMax)],
    );
    if (as === "platform") await this.asPlatform();
    if (as === "restore") await this.#client.query(takeRole(restoreSuffix));
  }

  /** For tables that the restore role itself may not write, within the same transaction. */
  async asPlatform(): Promise<void> {
    await this.#client.query(platformRole);
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    this.#signal.throwIfAborted();
    return (await this.#client.query<Row>(text, [...values])).rows;
  }

  /** @returns how many rows the statement wrote */
  async write(text: string, values: readonly unknown[] = []): Promise<number> {
    this.#signal.throwIfAborted();
    return (await this.#client.query(text, [...values])).rowCount ?? 0;
  }

  /** @param select a query, or a table with its columns; composed only from fixed names */
  copyOut(select: string): CopyOut {
    return this.#client.query(new CopyOut(`copy ${select} to stdout with (format binary)`));
  }

  copyIn(target: string): Writable & { rowCount: number } {
    return this.#client.query(copyFrom(`copy ${target} from stdin with (format binary)`));
  }

  async commit(): Promise<void> {
    this.#signal.throwIfAborted();
    await this.#client.query("commit");
  }

  async rollback(): Promise<void> {
    await this.#client.query("rollback");
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#abort);
    await this.#client.end().catch(() => undefined);
  }
}

/** @returns the name as an SQL identifier in double quotes */
export const quoted = (name: string): string => pg.escapeIdentifier(name);

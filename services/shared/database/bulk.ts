// A connection of its own, outside the pool, for work that moves whole tables: COPY in both directions, in one transaction
// that may take long. Whose rows it sees is said when the transaction begins, as everywhere.
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { bulkSocket } from "./bulk-socket.ts";
import { CopyOut } from "./copy-out.ts";
import { restoreSuffix } from "./scope.ts";
import { platformRole, takeRole } from "./scope.ts";

const connectMsMax = 10_000;
/** Of one COPY or one statement over all of a tenant's rows. */
const statementMsMax = 6 * 3_600_000;
/** Of waiting for a lock: whoever holds one does so for some seconds. */
const lockMsMax = 15_000;

export interface BulkScope {
  /**
   * `platform`: all rows. `tenant`: one tenant's. `restore`: one tenant's, with the rights of a restore. `owner`: what the login
   * itself may, for programs that are given the owner's.
   */
  as: "platform" | "tenant" | "restore" | "owner";
  tenantId?: number;
  /** The job under which rows are staged, and whose freeze does not hold it up. */
  job?: string;
}

export class Bulk {
  readonly #client: pg.Client;
  readonly #signal: AbortSignal;
  readonly #abort: () => void;

  private constructor(client: pg.Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
    // The server takes back what was not committed when the connection ends.
    this.#abort = () => void client.end().catch(() => undefined);
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  /** @param signal ends the connection, and with it what is under way */
  static async open(url: string, signal: AbortSignal): Promise<Bulk> {
    signal.throwIfAborted();
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectMsMax,
      application_name: "records-backups",
      keepAlive: true,
      // The driver hands over its settings, which its types leave out.
      stream: bulkSocket as () => Socket,
    });
    // What breaks fails the statement under way; without a listener the event would end the process.
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

  /** One state of the whole database, which writers neither see nor wait for. */
  async beginSnapshot(scope: BulkScope): Promise<void> {
    await this.#begin("begin isolation level repeatable read, read only", scope);
  }

  async beginChange(scope: BulkScope): Promise<void> {
    await this.#begin("begin", scope);
  }

  async #begin(statement: string, { as, tenantId, job }: BulkScope): Promise<void> {
    await this.#client.query(statement);
    await this.#client.query(
      // Within the transaction, as a pooler may lend the connection for no longer.
      `select set_config('statement_timeout', $3, true), set_config('lock_timeout', $4, true),
         set_config('app.tenant_id', $1, true), set_config('app.restore_job', $2, true)`,
      [tenantId === undefined ? "" : String(tenantId), job ?? "", String(statementMsMax), String(lockMsMax)],
    );
    if (as === "platform") await this.asPlatform();
    if (as === "restore") await this.#client.query(takeRole(restoreSuffix));
  }

  /** For what the same transaction leaves in tables that the restore itself may not write. */
  async asPlatform(): Promise<void> {
    await this.#client.query(platformRole);
  }

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    this.#signal.throwIfAborted();
    return (await this.#client.query<Row>(text, [...values])).rows;
  }

  /** How many rows a statement wrote. */
  async write(text: string, values: readonly unknown[] = []): Promise<number> {
    this.#signal.throwIfAborted();
    return (await this.#client.query(text, [...values])).rowCount ?? 0;
  }

  /** @param select a query, or a table with its columns; composed from fixed names only */
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

export const quoted = (name: string): string => pg.escapeIdentifier(name);

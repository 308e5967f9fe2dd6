// The access of services to PostgreSQL: `read` runs one statement that changes nothing, `write` one that does, and `change` one
// transaction with the change, its audit entry and its event. There is no query without a scope, and no change without a caller.
import type { EntityManager } from "@mikro-orm/postgresql";
import type pg from "pg";
import type { Caller } from "../caller.ts";
import { foreignTenant, Unavailable } from "../errors.ts";
import { TenantBatches } from "../tenant-batches.ts";
import {
  auditedStatement,
  type AuditFacts,
  auditStatement,
  type Change,
  type ChangeOptions,
  type EntryValues,
  entryValues,
  runChange,
} from "./change.ts";
import { type TransactionPooling, type Purpose, ScopedQuery, type Scope, type Statement } from "./scope.ts";
import { beginStatement, endStatement } from "./statement-watch.ts";

export interface DatabaseParts {
  /** MikroORM's own pool: entities and hot reads share one set of connections. */
  pool: pg.Pool;
  entities: EntityManager;
  /** As for `sessionOf`. */
  pooling?: TransactionPooling | undefined;
}

/** The database of one process. All statements run with a scope, and are committed or rolled back as a whole. */
export class Database {
  readonly #parts: DatabaseParts;
  readonly #readEntries = new TenantBatches<EntryValues, true>(async (tenantId, entries) => {
    await this.#run({ tenantId }, "write", auditStatement(tenantId, entries));
    return entries.map(() => true);
  });

  constructor(parts: DatabaseParts) {
    this.#parts = parts;
  }

  /** The pool itself, for libraries with their own tables without tenant rows (the rate limiter, the job queue). */
  get pool(): pg.Pool {
    return this.#parts.pool;
  }

  /** Runs one statement in a read-only transaction: PostgreSQL rejects any write (25006), also by a function or a sequence. */
  read<Row>(scope: Scope, statement: Statement): Promise<Row[]> {
    return this.#run(scope, "read", statement);
  }

  async readOne<Row>(scope: Scope, statement: Statement): Promise<Row | undefined> {
    return (await this.read<Row>(scope, statement))[0];
  }

  /**
   * Runs one statement that changes something. It leaves no audit entry except those that it writes itself. The session of a
   * signed-in caller is not checked: for users it is only used for statements without an effect of their own (drawing an id) or
   * that follow from a change.
   * @param caller decides which tenants are allowed; work for several callers or for none uses the system caller
   */
  async write<Row>(scope: Scope, caller: Caller, statement: Statement): Promise<Row[]> {
    assertWithin(scope, caller);
    return this.#run(scope, "write", statement);
  }

  async writeOne<Row>(scope: Scope, caller: Caller, statement: Statement): Promise<Row | undefined> {
    return (await this.write<Row>(scope, caller, statement))[0];
  }

  async #run<Row>(scope: Scope, purpose: Purpose, statement: Statement): Promise<Row[]> {
    const client = await checkOut(this.#parts.pool);
    const { text, name } = statement;
    const begun = beginStatement(text, name);
    return new Promise<Row[]>((resolve, reject) => {
      const query = new ScopedQuery(scope, purpose, statement, this.#parts.pooling, (error, result) => {
        // A broken connection must leave the pool; after an error of the statement it is still usable.
        client.release(error !== null && !("severity" in error));
        endStatement(begun, text, name, error);
        if (error === null) resolve(result.rows);
        else reject(error);
      });
      // The driver accepts any submittable; its types know only its own classes.
      client.query(query as unknown as pg.Query);
    });
  }

  /** Writes the audit entry of a read. Await it before the data is returned to the caller. */
  async recordRead(caller: Caller, facts: AuditFacts): Promise<void> {
    assertWithin({ tenantId: facts.tenantId }, caller);
    await this.#readEntries.add(facts.tenantId, entryValues(facts, caller));
  }

  /** A change of one statement with its audit entry. For callers who are not signed in it takes one round trip. */
  async changeOnce(scope: Scope, caller: Caller, statement: Statement, facts: AuditFacts): Promise<void> {
    assertWithin(scope, caller);
    if (caller.principal.kind === "user")
      return this.change(scope, caller, async (change) => {
        await change.execute(statement.text, statement.values);
        change.audit(facts);
      });
    await this.#run(scope, "write", auditedStatement(statement, facts, caller));
  }

  /**
   * Runs `work` in one transaction in `scope`; its audit entries and events are written in the same transaction, last.
   * @param caller recorded as the actor in the audit entries
   * @throws Unauthorized, with nothing changed, when a signed-in caller's session has ended meanwhile
   */
  async change<T>(
    scope: Scope,
    caller: Caller,
    work: (change: Change) => Promise<T>,
    options: ChangeOptions = {},
  ): Promise<T> {
    assertWithin(scope, caller);
    return runChange(this.#parts, scope, caller, work, options);
  }
}

/**
 * A second check, independent of those before it: only superadmins change other tenants. Code that names the platform scope
 * explicitly is responsible for its own check.
 */
function assertWithin(scope: Scope, { principal }: Caller): void {
  if (scope === "platform" || principal.kind !== "user" || principal.role === "superadmin") return;
  if (scope.tenantId !== principal.tenantId) throw foreignTenant();
}

/** The pool's timeout bounds the wait for a connection. A timeout means overload, and not an error of this program. */
async function checkOut(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    if (error instanceof Error && /timeout exceeded when trying to connect/.test(error.message))
      throw new Unavailable();
    throw error;
  }
}

// What services see of PostgreSQL: `read` for one statement that changes nothing, `write` for one that does, `change` for
// one transaction that holds the change, its audit entry and its event. There is no way to a query without a scope, and
// none to a change without a caller.
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
import { type LentConnections, type Purpose, ScopedQuery, type Scope, type Statement } from "./scope.ts";
import { beginStatement, endStatement } from "./statement-watch.ts";

export interface DatabaseParts {
  /** MikroORM's own pool: one set of connections for entities and for hot reads. */
  pool: pg.Pool;
  entities: EntityManager;
  /** As in `sessionOf`. */
  lent?: LentConnections | undefined;
}

export class Database {
  readonly #parts: DatabaseParts;
  readonly #notes = new TenantBatches<EntryValues, true>(async (tenantId, entries) => {
    await this.#run({ tenantId }, "write", auditStatement(tenantId, entries));
    return entries.map(() => true);
  });

  constructor(parts: DatabaseParts) {
    this.#parts = parts;
  }

  /** For libraries that keep their own tables without tenant rows (the rate limiter). */
  get pool(): pg.Pool {
    return this.#parts.pool;
  }

  /** One statement in a transaction that PostgreSQL holds to reading: 25006 if it writes, also by a function or a sequence. */
  read<Row>(scope: Scope, statement: Statement): Promise<Row[]> {
    return this.#run(scope, "read", statement);
  }

  async readOne<Row>(scope: Scope, statement: Statement): Promise<Row | undefined> {
    return (await this.read<Row>(scope, statement))[0];
  }

  /**
   * One statement that changes something, and leaves no audit entry but what it writes itself. A signed-in caller's session
   * is not asked after: on behalf of users it does what has no effect by itself (drawing an id) or follows from a change.
   * @param caller of whom the tenant's wall is asked: who works for several callers at once, or for none, is the service
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
      const query = new ScopedQuery(scope, purpose, statement, this.#parts.lent, (error, result) => {
        // A connection that broke must leave the pool; an error of the statement leaves it usable.
        client.release(error !== null && !("severity" in error));
        endStatement(begun, text, name, error);
        if (error === null) resolve(result.rows);
        else reject(error);
      });
      // The driver accepts any submittable; its types know only its own classes.
      client.query(query as unknown as pg.Query);
    });
  }

  /** Writes the audit entry of something that changed nothing: await it before telling what was read. */
  async recordRead(caller: Caller, facts: AuditFacts): Promise<void> {
    assertWithin({ tenantId: facts.tenantId }, caller);
    await this.#notes.add(facts.tenantId, entryValues(facts, caller));
  }

  /** A change of one statement, with its audit entry: for who is not signed in, in one round trip. */
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
   * Runs `work` in one transaction in `scope`; what it audits and tells is written in the same transaction, last.
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
 * Whatever the checks before it have read: who is no superadmin changes no other tenant. What is spelled out as the
 * platform's stays with who wrote it.
 */
function assertWithin(scope: Scope, { principal }: Caller): void {
  if (scope === "platform" || principal.kind !== "user" || principal.role === "superadmin") return;
  if (scope.tenantId !== principal.tenantId) throw foreignTenant();
}

/** Waiting for a connection is bounded by the pool's timeout; running out of it is overload, not a fault of ours. */
async function checkOut(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    if (error instanceof Error && /timeout exceeded when trying to connect/.test(error.message))
      throw new Unavailable();
    throw error;
  }
}

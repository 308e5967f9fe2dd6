// One change is one transaction: rows, audit entries and events are committed together or not at all. Audit entries are inserted
// last, because an insert locks the tenant's audit chain until the commit.
import { EntityManager } from "@mikro-orm/postgresql";
import canonicalize from "canonicalize";
import type { Kysely } from "kysely";
import type { AuditChanges } from "../audit-changes.ts";
import type { Caller } from "../caller.ts";
import type { EventKind } from "../event-kinds.ts";
import type { PayloadOf } from "../event-payloads.ts";
import { runBound } from "./bound-values.ts";
import type { DatabaseParts } from "./database.ts";
import { assertSessionLives } from "./live-session.ts";
import { withOrigin } from "../job-origin.ts";
import { currentContext, runInChildSpan } from "../tracing.ts";
import { statementName } from "./statement-watch.ts";
import { platformRole, type Scope, sessionOf, type Statement } from "./scope.ts";

export interface AuditFacts {
  tenantId: number;
  /** `resource.verb`, e.g. "user.block". */
  action: string;
  target?: { type: string; id: number | string };
  outcome?: "ok" | "denied" | "error";
  /** Field names and plain facts; never a secret, password, token or patient text. */
  changes?: AuditChanges;
  /** The actor if it is not the caller: a user who is just signing in. */
  userId?: number;
  /** The origin if it is not the caller's: for an entry that sums up the actions of others. */
  origin?: { ip: string | null; userAgent: string | null; requestId: string };
}

/** An event of one kind with the payload of that kind. */
export type PublishedEvent = {
  [K in EventKind]: { tenantId: number; kind: K; payload: PayloadOf<K> };
}[EventKind];

export interface Change {
  /** MikroORM's unit of work within this transaction and scope. */
  entities: EntityManager;
  /** Runs one SQL statement within this transaction; `$1`, `$2` … are its parameters. */
  execute<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** The first row of a statement that always answers one. @throws Error that names the statement when it answers none */
  one<Row>(sql: string, values?: readonly unknown[]): Promise<Row>;
  audit(facts: AuditFacts): void;
  publishEvent(facts: PublishedEvent): void;
  /** Enqueues a durable job. It exists only if this transaction commits. */
  enqueue(
    task: string,
    payload: Record<string, unknown>,
    options?: { key?: string; afterSeconds?: number },
  ): Promise<void>;
}

/** A change without MikroORM, for work on a connection of its own. */
export type PlainChange = Omit<Change, "entities">;

type Execute = Change["execute"];

interface ChangeRecorder extends PlainChange {
  /** Writes events and audit entries, last: the first audit entry locks the tenant's chain until the commit. */
  finish: (caller: Caller) => Promise<void>;
}

/** Collects the audit entries and events of a transaction. @param execute runs a statement in that transaction */
export function recordChange(execute: Execute): ChangeRecorder {
  const audited: AuditFacts[] = [];
  const published: PublishedEvent[] = [];
  return {
    execute,
    one: async <Row>(sql: string, values?: readonly unknown[]) => {
      const [row] = await execute<Row>(sql, values);
      if (row === undefined) throw new Error(`the statement "${statementName(sql)}" answered no row`);
      return row;
    },
    audit: (facts) => void audited.push(facts),
    publishEvent: (facts) => void published.push(facts),
    enqueue: async (task, payload, options) => {
      const { key = null, afterSeconds = null } = options ?? {};
      await execute(
        `select add_task($1, payload := $2::json, job_key := $3, run_at := now() + make_interval(secs => $4))`,
        [task, JSON.stringify(withOrigin(payload)), key, afterSeconds],
      );
    },
    finish: async (caller) => {
      for (const event of published) {
        await execute("insert into events (tenant_id, kind, payload, trace) values ($1, $2, $3, $4)", [
          event.tenantId,
          event.kind,
          JSON.stringify(event.payload),
          currentContext()?.span?.traceparent ?? null,
        ]);
      }
      for (const entry of audited) await execute(auditInsert, auditValues(entry, caller));
    },
  };
}

export interface ChangeOptions {
  /** Commits although the caller's session has ended: for a change that ends the session, or that records a refusal. */
  evenIfSignedOut?: boolean;
}

/** Runs a change in a transaction of MikroORM; see Database.change. */
export function runChange<T>(
  { entities, pooling }: Pick<DatabaseParts, "entities" | "pooling">,
  scope: Scope,
  caller: Caller,
  work: (change: Change) => Promise<T>,
  { evenIfSignedOut = false }: ChangeOptions = {},
): Promise<T> {
  const fork = entities.fork({ session: sessionOf(scope, pooling) });
  return runInChildSpan("transaction", "internal", () =>
    fork.transactional(async (em) => {
      const transaction = em.getTransactionContext<Kysely<unknown>>();
      if (transaction === undefined) throw new Error("a change runs in a transaction");
      const execute = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
        // The type parameter says which columns the statement returns.
        (await runBound(transaction, { text, values: [...values] })).rows as Row[];
      if (scope === "platform") await execute(platformRole);
      const { finish, ...change } = recordChange(execute);
      const result = await work({ ...change, entities: em });
      await em.flush();
      await finish(caller);
      if (!evenIfSignedOut) await assertSessionLives(transaction, scope, caller);
      return result;
    }),
  );
}

const auditColumns = `insert into audit_entries
  (tenant_id, user_id, action, target_type, target_id, outcome, changes, ip, user_agent, request_id) values`;
const auditInsert = `${auditColumns} ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

/** One audit entry as a list of column values, in the order of `auditColumns` without the tenant. */
export type EntryValues = readonly unknown[];

/** The types of the parameters of `append_entries`, one array each. */
const entryTypes = ["integer", "text", "text", "text", "text", "json", "text", "text", "text"] as const;

/**
 * The call of the SQL function that writes several entries of one tenant. For reads, which have no change of their own.
 * @param firstAt the number of the first of `entryArrays` among the statement's values
 * @param places an SQL expression of type integer[]: the positions of the entries to write, from 1; null for all
 */
export function appendEntries(firstAt: number, places: string): string {
  const arrays = entryTypes.map((type, at) => `$${firstAt + at}::${type}[]`);
  return `append_entries($1, ${places}, ${arrays.join(", ")})`;
}

/** @returns the values for `appendEntries`: one array per column, in the order of its parameters */
export function entryArrays(entries: readonly EntryValues[]): unknown[][] {
  return entryTypes.map((_, at) => entries.map((entry) => entry[at]));
}

/** @returns the statement that writes all entries of one tenant */
export function auditStatement(tenantId: number, entries: readonly EntryValues[]): Statement {
  const text = `select ${appendEntries(2, "null")}`;
  return { name: "audit.note", text, values: [tenantId, ...entryArrays(entries)] };
}

/** @returns the entry as column values. @param caller the actor unless the entry names another user */
export function entryValues(entry: AuditFacts, caller: Caller): EntryValues {
  return auditValues(entry, caller).slice(1);
}

/**
 * Combines a change of one statement and its audit entry into one statement: both or neither, in one round trip.
 * @param change a data-modifying statement; its name and text must not depend on the values
 */
export function auditedStatement(change: Statement, entry: AuditFacts, caller: Caller): Statement {
  const values = auditValues(entry, caller);
  const places = values.map((_, index) => `$${change.values.length + index + 1}`);
  const text = `with change as (${change.text}) ${auditColumns} (${places.join(", ")})`;
  return { name: change.name, text, values: [...change.values, ...values] };
}

function auditValues(entry: AuditFacts, caller: Caller): unknown[] {
  const { principal } = caller.facts;
  const { ip, userAgent, requestId } = entry.origin ?? caller.facts;
  const operator = principal.kind === "operator" ? { operator: principal.name } : {};
  return [
    entry.tenantId,
    entry.userId ?? (principal.kind === "user" ? principal.userId : null),
    entry.action,
    entry.target?.type ?? null,
    entry.target === undefined ? null : String(entry.target.id),
    entry.outcome ?? "ok",
    canonicalize({ ...operator, ...entry.changes }) ?? "{}",
    ip,
    userAgent,
    requestId,
  ];
}

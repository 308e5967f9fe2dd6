// One change = one transaction: rows, audit entries and events together or not at all. Audit entries are inserted at
// the end, because inserting one locks the tenant's chain until commit.
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
import { currentTrail, inSpan } from "../tracing.ts";
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
  /** The actor when it is not the caller: a user who is just signing in. */
  userId?: number;
  /** Where it came from, when that is not the caller's: an entry that sums up what others did. */
  origin?: { ip: string | null; userAgent: string | null; requestId: string };
}

/** A kind, and a payload of that kind. */
export type PublishedEvent = {
  [K in EventKind]: { tenantId: number; kind: K; payload: PayloadOf<K> };
}[EventKind];

export interface Change {
  /** MikroORM's unit of work inside this transaction and scope. */
  entities: EntityManager;
  /** One SQL statement inside this transaction; `$1`, `$2` … are its parameters. */
  execute<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** The first row of a statement that always answers one. @throws Error that names the statement when it answers none */
  one<Row>(sql: string, values?: readonly unknown[]): Promise<Row>;
  audit(facts: AuditFacts): void;
  publishEvent(facts: PublishedEvent): void;
  /** Enqueues a durable job that exists only if this transaction commits. */
  enqueue(
    task: string,
    payload: Record<string, unknown>,
    options?: { key?: string; afterSeconds?: number },
  ): Promise<void>;
}

/** A change without MikroORM: what work on a connection of its own leaves behind in its transaction. */
export type PlainChange = Omit<Change, "entities">;

type Execute = Change["execute"];

interface Recording extends PlainChange {
  /** Writes what was told and audited, last: the first audit entry locks the tenant's chain until the end. */
  finish: (caller: Caller) => Promise<void>;
}

export function recording(execute: Execute): Recording {
  const audited: AuditFacts[] = [];
  const told: PublishedEvent[] = [];
  return {
    execute,
    one: async <Row>(sql: string, values?: readonly unknown[]) => {
      const [row] = await execute<Row>(sql, values);
      if (row === undefined) throw new Error(`the statement "${statementName(sql)}" answered no row`);
      return row;
    },
    audit: (facts) => void audited.push(facts),
    publishEvent: (facts) => void told.push(facts),
    enqueue: async (task, payload, options) => {
      const { key = null, afterSeconds = null } = options ?? {};
      await execute(
        `select add_task($1, payload := $2::json, job_key := $3, run_at := now() + make_interval(secs => $4))`,
        [task, JSON.stringify(withOrigin(payload)), key, afterSeconds],
      );
    },
    finish: async (caller) => {
      for (const event of told) {
        await execute("insert into events (tenant_id, kind, payload, trace) values ($1, $2, $3, $4)", [
          event.tenantId,
          event.kind,
          JSON.stringify(event.payload),
          currentTrail()?.span?.traceparent ?? null,
        ]);
      }
      for (const entry of audited) await execute(auditInsert, auditValues(entry, caller));
    },
  };
}

export interface ChangeOptions {
  /** The caller's session may have ended: the change itself ends it, or only says what was refused to them. */
  evenIfSignedOut?: boolean;
}

export function runChange<T>(
  { entities, lent }: Pick<DatabaseParts, "entities" | "lent">,
  scope: Scope,
  caller: Caller,
  work: (change: Change) => Promise<T>,
  { evenIfSignedOut = false }: ChangeOptions = {},
): Promise<T> {
  const fork = entities.fork({ session: sessionOf(scope, lent) });
  return inSpan("transaction", "internal", () =>
    fork.transactional(async (em) => {
      const transaction = em.getTransactionContext<Kysely<unknown>>();
      if (transaction === undefined) throw new Error("a change runs in a transaction");
      const execute = async <Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
        // The caller says what columns its statement answers.
        (await runBound(transaction, { text, values: [...values] })).rows as Row[];
      if (scope === "platform") await execute(platformRole);
      const { finish, ...change } = recording(execute);
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

/** One entry as its columns' values, in the order of `auditColumns` without the tenant. */
export type EntryValues = readonly unknown[];

/** As `append_entries` takes them, one array for each. */
const entryTypes = ["integer", "text", "text", "text", "text", "json", "text", "text", "text"] as const;

/**
 * The call of the function that writes several entries of one tenant, for what was read, where there is no change to go
 * with.
 * @param firstAt the number of the first of `entryArrays` among the statement's values
 * @param places an expression: which of the entries, as integer[] from 1; null for all
 */
export function appendEntries(firstAt: number, places: string): string {
  const arrays = entryTypes.map((type, at) => `$${firstAt + at}::${type}[]`);
  return `append_entries($1, ${places}, ${arrays.join(", ")})`;
}

export function entryArrays(entries: readonly EntryValues[]): unknown[][] {
  return entryTypes.map((_, at) => entries.map((entry) => entry[at]));
}

export function auditStatement(tenantId: number, entries: readonly EntryValues[]): Statement {
  const text = `select ${appendEntries(2, "null")}`;
  return { name: "audit.note", text, values: [tenantId, ...entryArrays(entries)] };
}

export function entryValues(entry: AuditFacts, caller: Caller): EntryValues {
  return auditValues(entry, caller).slice(1);
}

/**
 * A change of one statement and its entry as one statement: both or neither, in one round trip.
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

// MikroORM writes values into the text of its statements. When a statement fails the server's log would then show them, for
// example a password hash. This driver sends the values as parameters instead, for entities and for transactions.
import type { Transaction } from "@mikro-orm/core";
import { type AbstractSqlConnection, PostgreSqlConnection, PostgreSqlDriver } from "@mikro-orm/postgresql";
import { CompiledQuery, type Kysely } from "kysely";
import { timed } from "./statement-watch.ts";

export interface BoundStatement {
  /** With `$1`, `$2` … for its values. */
  text: string;
  values: unknown[];
}

/** Runs one statement on the connection of a transaction, or on any connection of the pool without one. */
export function runBound(client: Pick<Kysely<unknown>, "executeQuery">, { text, values }: BoundStatement) {
  return timed(text, undefined, () => client.executeQuery(CompiledQuery.raw(text, values)));
}

/** As `runBound`, but planned once per connection under its name. @param name unique per text */
export function runPrepared(
  client: Pick<Kysely<unknown>, "executeQuery">,
  { name, text, values }: BoundStatement & { name: string },
) {
  // Kysely passes the text on unchanged, and the driver accepts an object with a name in its place. Kysely's types know only
  // texts.
  const query = CompiledQuery.raw({ name, text } as unknown as string, values);
  return timed(text, name, () => client.executeQuery(query));
}

/** A fragment of SQL with its own values, as MikroORM builds them. */
interface Fragment {
  sql: string;
  params: readonly unknown[];
}
const isFragment = (value: unknown): value is Fragment =>
  typeof value === "object" && value !== null && "sql" in value && "params" in value;

/**
 * Translates MikroORM's placeholders to PostgreSQL's: `?` is a value, `??` a name, `\?` the operator.
 * @param quoteName quotes an identifier for `??`
 */
export function bindMarks(
  sql: string,
  params: readonly unknown[],
  quoteName: (name: string) => string,
  values: unknown[] = [],
): BoundStatement {
  let next = 0;
  const text = sql.replace(/\\\?|\?\??/g, (mark) => {
    if (mark === "\\?") return "?";
    const value = params[next++];
    if (mark === "??") return quoteName(String(value));
    if (isFragment(value)) return bindMarks(value.sql, value.params, quoteName, values).text;
    return `$${values.push(isPlainObject(value) ? JSON.stringify(value) : value)}`;
  });
  return { text, values };
}

/** The driver handles dates, bytes and lists. A plain object is the value of a JSON column. */
function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

class BoundValuesConnection extends PostgreSqlConnection {
  override async execute<T>(...call: Parameters<AbstractSqlConnection["execute"]>): Promise<T> {
    const [query, params = [], method = "all", context] = call;
    await this.ensureConnection();
    const fragment = typeof query === "object" && "toRaw" in query ? query.toRaw() : query;
    const [sql, given] = typeof fragment === "string" ? [fragment, params] : [fragment.sql, fragment.params];
    if (!Array.isArray(given)) throw new Error("named parameters are not bound here");
    const bound = bindMarks(sql, given, (name) => this.platform.quoteIdentifier(name));
    // MikroORM types a transaction as unknown; it is Kysely's.
    const client = (context as Transaction<Kysely<unknown>> | undefined) ?? this.getClient();
    const answer = await this.executeQuery(bound.text, () => runBound(client, bound));
    return this.transformRawResult<T>(answer, method);
  }
}

/** MikroORM's driver with bound values. */
export class BoundValuesDriver extends PostgreSqlDriver {
  override readonly connection = new BoundValuesConnection(this.config);
}

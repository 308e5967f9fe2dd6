// Whose rows a statement may see. Every statement of the service runs in a scope; row-level security enforces it
// beneath. A tenant scope sees one tenant; the platform scope takes up the login's own role for it (`<login>_platform`) and
// sees all: it is for signing in (the tenant is not known yet), superadmins, schedules and start-up, and always spelled out.
import pg from "pg";

export type Scope = { readonly tenantId: number } | "platform";

export const platform: Scope = "platform";

/** What a statement is for: in a transaction that only reads PostgreSQL refuses whatever would change something. */
export type Purpose = "read" | "write";

const settings = "set_config('plan_cache_mode', $1, true), set_config('transaction_read_only', $2, true)";

const takePlatformRole = "set_config('role', session_user || '_platform', true)";
/** @param suffix of one of the login's roles */
export const takeRole = (suffix: string): string =>
  `select set_config('role', session_user || '_${suffix}', true)`;
/** The platform's scope, inside a transaction of MikroORM's or of one's own. */
export const platformRole = takeRole("platform");

/**
 * Prepared once per connection (see connect.ts); all is local to the transaction they run in. They also say how the
 * statement after them is planned: left to itself PostgreSQL takes a list's unknown limit for a reason to plan it anew
 * each time, which costs more than running it.
 */
export const scopeStatements = {
  tenant: { name: "scope_tenant", text: `select ${settings}, set_config('app.tenant_id', $3, true)` },
  platform: {
    name: "scope_platform",
    text: `select ${settings}, ${takePlatformRole}`,
  },
  platformByIndex: {
    name: "scope_platform_by_index",
    text: `select ${settings}, ${takePlatformRole}, set_config('enable_seqscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`,
  },
} as const;

type ScopeName = keyof typeof scopeStatements;

/** How work begins on connections that a pooler lends for one transaction: nothing can have been left on them. */
export interface LentConnections {
  readonly variables: Readonly<Record<string, string>>;
  readonly scopeTexts: Readonly<Record<ScopeName, string>>;
}

/** @param variables what each transaction sets before its scope; names and values are ours */
export function lentConnections(variables: Readonly<Record<string, string>>): LentConnections {
  const begins = Object.entries(variables).map(([name, value]) => `set_config('${name}', '${value}', true)`);
  const textOf = (name: ScopeName) =>
    scopeStatements[name].text.replace("select ", `select ${begins.join(", ")}, `);
  const scopeTexts = {
    tenant: textOf("tenant"),
    platform: textOf("platform"),
    platformByIndex: textOf("platformByIndex"),
  };
  return { variables, scopeTexts };
}

/** The same for MikroORM's own transactions, but for the role: it is taken up by a statement, as it follows from the login. */
export function sessionOf(
  scope: Scope,
  lent: LentConnections | undefined,
): { variables: Record<string, string> } {
  return {
    variables: { ...lent?.variables, "app.tenant_id": scope === "platform" ? "" : String(scope.tenantId) },
  };
}

export interface Statement {
  /**
   * Unique per text; the statement is planned once per connection under this name, for whatever values come: its best
   * plan must not depend on them. Absent: planned each time.
   */
  name?: string | undefined;
  text: string;
  values: readonly unknown[];
  /**
   * In the platform's scope: planned to go by indexes. For queues: a plan is kept per connection, and one that was made
   * when a table was all but empty would walk through it when it is not.
   */
  byIndex?: boolean;
}

const preparedNames = new Map<string, string>();
const preparedNamesMax = 1_000;

/**
 * A stable name for a statement that is composed from a fixed set of parts. Texts beyond the bound (a composition that
 * is not from a fixed set after all) go unnamed rather than fill the server's memory.
 */
export function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined || preparedNames.size >= preparedNamesMax) return known;
  const name = `composed_${preparedNames.size}`;
  preparedNames.set(text, name);
  return name;
}

// The driver's wire objects that its type declarations leave out: only the calls used here.
interface Connection {
  parse(config: { text: string; name: string; types: readonly number[] }): void;
  bind(config: {
    portal: string;
    statement: string;
    values: unknown[];
    valueMapper: (value: unknown) => unknown;
  }): void;
  execute(config: { portal: string; rows?: number }): void;
  stream: { cork(): void; uncork(): void };
}
interface WireQuery {
  name: string | undefined;
  queryMode: "extended" | undefined;
  prepare(connection: Connection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Connection): void;
}
// pg.Query is the class of exactly these objects; its declaration shows only a part of it.
const DriverQuery = pg.Query as unknown as new (
  text: string,
  values: unknown[],
  callback: (error: Error | null, result: pg.QueryResult) => void,
) => WireQuery;

/**
 * One statement with its scope in one round trip: the scope's set_config and the statement are sent together before
 * one Sync, so PostgreSQL runs them as one transaction and the setting is gone with it. BEGIN, SET, SELECT, COMMIT
 * would be four round trips for the same.
 */
export class ScopedQuery extends DriverQuery {
  readonly #scope: Scope;
  readonly #planMode: "force_generic_plan" | "auto";
  readonly #byIndex: boolean;
  readonly #purpose: Purpose;
  readonly #lent: LentConnections | undefined;
  #scopeSet = false;

  /** @param lent as in `sessionOf`: then nothing is planned under a name, which the connection's next user would meet */
  constructor(
    scope: Scope,
    purpose: Purpose,
    statement: Statement,
    lent: LentConnections | undefined,
    callback: (error: Error | null, result: pg.QueryResult) => void,
  ) {
    const { name, text, values, byIndex = false } = statement;
    // In three arguments: a config of one the driver would clone property by property, which costs microseconds.
    super(text, [...values], callback);
    this.name = lent === undefined ? name : undefined;
    // Else the driver would send a statement that has no values outside our pipeline.
    this.queryMode = "extended";
    this.#scope = scope;
    this.#purpose = purpose;
    this.#byIndex = byIndex;
    this.#lent = lent;
    this.#planMode = name === undefined ? "auto" : "force_generic_plan";
  }

  override prepare(connection: Connection): void {
    const scope = this.#scope;
    const common = [this.#planMode, this.#purpose === "read" ? "on" : "off"];
    const platformName = this.#byIndex ? "platformByIndex" : "platform";
    const name = scope === "platform" ? platformName : "tenant";
    if (this.#lent !== undefined)
      connection.parse({ text: this.#lent.scopeTexts[name], name: "", types: [] });
    connection.bind({
      portal: "",
      statement: this.#lent === undefined ? scopeStatements[name].name : "",
      values: scope === "platform" ? common : [...common, String(scope.tenantId)],
      valueMapper: (value) => value,
    });
    connection.execute({ portal: "" });
    super.prepare(connection);
  }

  override handleDataRow(message: unknown): void {
    if (this.#scopeSet) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    if (this.#scopeSet) super.handleCommandComplete(message, connection);
    else this.#scopeSet = true;
  }
}

export const restoreSuffix = "restore";

// The scope of a statement: whose rows it may see. Every statement runs in a scope, and row-level security enforces it. A tenant
// scope sees one tenant. The platform scope takes the role `<login>_platform` and sees all tenants. It is for sign-in (where the
// tenant is not known yet), superadmins, schedules and start-up, and must always be named explicitly.
import pg from "pg";

export type Scope = { readonly tenantId: number } | "platform";

export const platform: Scope = "platform";

/** The purpose of a statement: in a read-only transaction PostgreSQL rejects every write. */
export type Purpose = "read" | "write";

const settings = "set_config('plan_cache_mode', $1, true), set_config('transaction_read_only', $2, true)";

const takePlatformRole = "set_config('role', session_user || '_platform', true)";
/** @param suffix of one of the login's roles, as in `<login>_<suffix>` */
export const takeRole = (suffix: string): string =>
  `select set_config('role', session_user || '_${suffix}', true)`;
/** Takes the platform's role within a transaction. */
export const platformRole = takeRole("platform");

/**
 * Prepared once per connection (see connect.ts); all settings are local to the transaction. They also force a generic plan for
 * the statement that follows: otherwise the unknown limit of a list makes PostgreSQL plan it at every execution, which costs more
 * than running it.
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

/** How transactions begin on connections of a transaction pooler: such a connection has no settings of its own. */
export interface TransactionPooling {
  readonly variables: Readonly<Record<string, string>>;
  readonly scopeTexts: Readonly<Record<ScopeName, string>>;
}

/** @param variables settings that each transaction makes before its scope; names and values are constants of ours */
export function transactionPooling(variables: Readonly<Record<string, string>>): TransactionPooling {
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

/**
 * The scope for MikroORM's own transactions, without the role: a statement takes the role, because its name depends on the login.
 */
export function sessionOf(
  scope: Scope,
  pooling: TransactionPooling | undefined,
): { variables: Record<string, string> } {
  return {
    variables: { ...pooling?.variables, "app.tenant_id": scope === "platform" ? "" : String(scope.tenantId) },
  };
}

export interface Statement {
  /**
   * Unique per text. The statement is planned once per connection under this name, for all values: its best plan must not depend
   * on them. Absent: planned at every execution.
   */
  name?: string | undefined;
  text: string;
  values: readonly unknown[];
  /**
   * In the platform scope: forces the use of indexes. For queues: a plan is kept per connection, and a plan made for an almost
   * empty table would scan the whole table when it is full.
   */
  byIndex?: boolean;
}

const preparedNames = new Map<string, string>();
const preparedNamesMax = 1_000;

/**
 * @returns a stable name for a statement that is composed from a fixed set of parts. When the bound is reached (the set is not
 * fixed after all) further texts stay unnamed, so that they do not fill the server's memory.
 */
export function preparedName(text: string): string | undefined {
  const known = preparedNames.get(text);
  if (known !== undefined || preparedNames.size >= preparedNamesMax) return known;
  const name = `composed_${preparedNames.size}`;
  preparedNames.set(text, name);
  return name;
}

// Internal objects of the driver that are missing in its types: only the calls used here.
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
// pg.Query is the class of these objects; its declaration shows only a part of it.
const DriverQuery = pg.Query as unknown as new (
  text: string,
  values: unknown[],
  callback: (error: Error | null, result: pg.QueryResult) => void,
) => WireQuery;

/**
 * One statement with its scope in one round trip. The scope's set_config and the statement are sent together before one Sync, so
 * PostgreSQL runs them as one transaction, and the settings end with it. BEGIN, SET, SELECT, COMMIT would be four round trips.
 */
export class ScopedQuery extends DriverQuery {
  readonly #scope: Scope;
  readonly #planMode: "force_generic_plan" | "auto";
  readonly #byIndex: boolean;
  readonly #purpose: Purpose;
  readonly #pooling: TransactionPooling | undefined;
  #scopeSet = false;

  /**
   * @param pooling as for `sessionOf`. If given, no statement is prepared under a name: the next user of the connection would
   * find it.
   */
  constructor(
    scope: Scope,
    purpose: Purpose,
    statement: Statement,
    pooling: TransactionPooling | undefined,
    callback: (error: Error | null, result: pg.QueryResult) => void,
  ) {
    const { name, text, values, byIndex = false } = statement;
    // Three arguments, because the driver would clone a config object property by property, which costs microseconds.
    super(text, [...values], callback);
    this.name = pooling === undefined ? name : undefined;
    // Otherwise the driver would send a statement without values outside of this pipeline.
    this.queryMode = "extended";
    this.#scope = scope;
    this.#purpose = purpose;
    this.#byIndex = byIndex;
    this.#pooling = pooling;
    this.#planMode = name === undefined ? "auto" : "force_generic_plan";
  }

  override prepare(connection: Connection): void {
    const scope = this.#scope;
    const common = [this.#planMode, this.#purpose === "read" ? "on" : "off"];
    const platformName = this.#byIndex ? "platformByIndex" : "platform";
    const name = scope === "platform" ? platformName : "tenant";
    if (this.#pooling !== undefined)
      connection.parse({ text: this.#pooling.scopeTexts[name], name: "", types: [] });
    connection.bind({
      portal: "",
      statement: this.#pooling === undefined ? scopeStatements[name].name : "",
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

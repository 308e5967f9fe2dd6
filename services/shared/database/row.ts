// The types of a statement's rows, made of the tables' columns: a column that is renamed, dropped or of another type breaks
// them when types are checked. That a statement really answers these columns is compared with what PostgreSQL says of it
// (test/database/rows.test.ts).
import type { Tables } from "./tables.ts";

type TableName = keyof Tables;

/** One column: what a statement answers under another name. */
export type Column<T extends TableName, C extends keyof Tables[T]> = Tables[T][C];

/**
 * Columns of one table under their own names, and what else is in the row: computed columns, and columns of which more is
 * known than their table says (`kind: EventKind`). It is an intersection: what contradicts a column is `never`.
 * @example RowOf<"users", "id" | "role", { total: number }>
 */
export type RowOf<T extends TableName, C extends keyof Tables[T] = never, Computed = unknown> = Pick<
  Tables[T],
  C
> &
  Computed;

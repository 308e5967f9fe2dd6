// Shapes that several contracts share: the list envelope with its query parameters, and timestamps.
import { Invalid } from "./errors.ts";
import { emptyIsAbsent, nullable, optional, withDefault } from "./params/modifiers.ts";
import { object } from "./params/results.ts";
import { id, integer, listOf, oneOf, text } from "./params/rules.ts";
import type { AnyRule, Rule } from "./params/types.ts";

const offsetMax = 100_000;

/** `page` and `limit` of every list; `(page-1)*limit` is bounded too, by `offsetOf`. */
export const paging = {
  page: emptyIsAbsent(
    integer({
      min: 1,
      max: offsetMax + 1,
      default: 1,
      description: `Which page; the items before it are at most ${offsetMax}.`,
    }),
  ),
  limit: integer({ min: 1, max: 200, default: 50, description: "How many items a page has." }),
};

/** The query parameters of a sorted list. @param first the default column */
export function sorting<const C extends readonly [string, ...string[]]>(
  columns: C,
  first: C[number],
  order: "asc" | "desc",
) {
  return {
    sort_by: withDefault(
      oneOf(columns, { description: "What the list is sorted by; equal ones by id." }),
      first,
    ),
    sort_order: withDefault(
      oneOf(["asc", "desc"], { name: "SortOrder", description: "Ascending or descending." }),
      order,
    ),
  };
}

export const searching = {
  search: optional(
    nullable(
      text({
        max: 200,
        trim: true,
        description: "Only what has this in it; case does not matter, % and _ are letters.",
      }),
    ),
  ),
};

/** The tenant whose rows are listed, as a query parameter. */
export const ofTenant = {
  tenant_id: optional(
    nullable(id({ description: "Of this tenant; superadmins see all without it, others their own anyway." })),
  ),
};

export interface Page<T> {
  items: T[];
  total: number;
  page: number;
  limit: number;
  pages: number;
}

/** @param name of the schema in the OpenAPI document */
export function pageOf<T>(name: string, item: Rule<T>): Rule<Page<T>> {
  // The builder's own type has the same five fields; Page<T> keeps compiler messages readable.
  return object(
    { items: listOf(item), total: integer(), page: integer(), limit: integer(), pages: integer() },
    { name },
  ) as AnyRule as Rule<Page<T>>;
}

/** @param total of all pages */
export function toPage<T>(items: T[], total: number, page: number, limit: number): Page<T> {
  return { items, total, page, limit, pages: Math.ceil(total / limit) };
}

/** The cost of an offset grows with every skipped row, so paging is limited. @throws Invalid beyond the limit */
export function offsetOf(page: number, limit: number): number {
  const offset = (page - 1) * limit;
  if (offset <= offsetMax) return offset;
  const msg = `Value error, a list is paged through up to its ${offsetMax}th item: narrow it by a filter or a search`;
  throw new Invalid([{ loc: ["query", "page"], msg, type: "value_error" }]);
}

/** PostgreSQL's text of a timestamptz(3) in UTC ("2026-01-02 03:04:05.6+00") as ISO 8601 with milliseconds and Z. */
export function toIso(timestamp: string): string {
  const time = timestamp.slice(11, -3);
  return `${timestamp.slice(0, 10)}T${time.length === 8 ? `${time}.000` : time.padEnd(12, "0")}Z`;
}

/** @returns a LIKE pattern in which `\`, `%` and `_` have no special meaning */
export function likePattern(search: string): string {
  return `%${search.replace(/[\\%_]/g, "\\$&")}%`;
}

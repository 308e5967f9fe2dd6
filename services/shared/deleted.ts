// Lists of deleted rows that are not purged yet, for operators who need an id to restore one. No HTTP route leads to them.
import { allow } from "./access.ts";
import type { Call } from "./bus/bus.ts";
import { platform, type Scope } from "./database/scope.ts";
import { Forbidden } from "./errors.ts";
import { optional } from "./params/modifiers.ts";
import { object, timestamp } from "./params/results.ts";
import { id, integer, listOf } from "./params/rules.ts";
import type { AnyRule, Fields, ValueOf } from "./params/types.ts";
import { ownTenant } from "./administered-scope.ts";
import { toIso } from "./wire.ts";

const rowsMax = 200;

/** The contract of such a list, newest first. @param fields besides the id and the time of deletion */
export function deletedList<const F extends Fields>(fields: F) {
  return {
    access: allow("superadmin"),
    repeatable: true,
    query: { tenant_id: optional(id()) },
    result: object({ items: listOf(object({ id: integer(), ...fields, deleted_at: timestamp() })) }),
  } as const;
}

export type DeletedRow<C extends { result: AnyRule }> =
  ValueOf<C["result"]> extends { items: (infer R)[] } ? R : never;

/** Follows `select id, … , deleted_at from …`. */
export const deletedTail = `where deleted_at is not null order by deleted_at desc, id desc limit ${rowsMax}`;

/** @throws Forbidden for users of a tenant, also for superadmins: only operators may call it */
export function deletedScope(call: Call<{ tenant_id?: number }>): Scope {
  if (ownTenant(call.caller) !== undefined) throw new Forbidden();
  const { tenant_id: tenantId } = call.params;
  return tenantId === undefined ? platform : { tenantId };
}

/** @returns the answer of a list, with times in ISO 8601 */
export function deletedItems<R extends { deleted_at: string }>(rows: readonly R[]): { items: R[] } {
  return { items: rows.map((row) => ({ ...row, deleted_at: toIso(row.deleted_at) })) };
}

/** Reads one value by one rule, through the same compiled check that actions use. */
import { compileParams } from "../../../../../services/shared/params/compile.ts";
import type { AnyRule, Failure } from "../../../../../services/shared/params/types.ts";

export function readOne(rule: AnyRule, value: unknown): { value: unknown } | { failures: Failure[] } {
  const checked = compileParams({ body: { field: rule } })({ field: value });
  if ("params" in checked) return { value: (checked.params as { field?: unknown }).field };
  if ("notFound" in checked) throw new Error("only path ids may be reported as not found");
  return checked;
}

/** `type: msg` of every failure, behind the location of those that lie below the field. */
export function faults(rule: AnyRule, value: unknown): string[] {
  const read = readOne(rule, value);
  if (!("failures" in read)) return [`accepted ${JSON.stringify(read.value)}`];
  return read.failures.map(({ loc, type, msg }) => [...loc.slice(2), `${type}: ${msg}`].join(" "));
}

/** Anything but text, as JSON and a careless caller on the bus may bring it. */
export const notTexts: unknown[] = [
  null,
  0,
  1.5,
  true,
  [],
  ["a"],
  {},
  { toString: () => "text" },
  new Date(0),
  Symbol("text"),
  1n,
  () => "text",
];

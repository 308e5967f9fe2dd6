/**
 * What makes a key optional, nullable or defaulted, and what adds a check of our own. A modifier answers a
 * changed copy, so that a shared rule stays as it was.
 */
import type { Presence, Rule, RuleShape } from "./types.ts";

/** The key may be absent; null is still refused unless `nullable`. */
export function optional<T, I>(rule: Rule<T, Presence, I>): Rule<T, "optional", I> {
  const shape: RuleShape = { ...rule, optional: true };
  return shape;
}

export function nullable<T, P extends Presence, I>(rule: Rule<T, P, I>): Rule<T | null, P, I | null> {
  const shape: RuleShape = { ...rule, nullable: true };
  return shape;
}

/** The default stands in for an absent key as it is: it is not read, trimmed or checked. */
export function withDefault<T, I>(rule: Rule<T, Presence, I>, value: NoInfer<T>): Rule<T, "defaulted", I> {
  const shape: RuleShape = { ...rule, default: value };
  return shape;
}

/** For queries, in which null cannot be written: `?role=` reads as null. */
export function emptyIsNull<T, P extends Presence, I>(rule: Rule<T, P, I>): Rule<T | null, P, I | null> {
  const shape: RuleShape = { ...rule, nullable: true, empty: "null" };
  return shape;
}

/** For queries with a default: `?page=` and null read as if `page` had not been sent. */
export function emptyIsAbsent<T, P extends Presence, I>(rule: Rule<T, P, I>): Rule<T, P, I | null> {
  const shape: RuleShape = { ...rule, empty: "absent" };
  return shape;
}

/**
 * Adds a check that runs on the read value once everything else holds.
 * It answers undefined, or the sentence that follows "Value error, ".
 */
export function custom<T, P extends Presence, I>(
  rule: Rule<T, P, I>,
  check: (value: NonNullable<T>) => string | undefined,
): Rule<T, P, I> {
  // The reader of this very rule has made a T of the value before any check sees it; null never gets here.
  const own = check as (value: unknown) => string | undefined;
  const shape: RuleShape = { ...rule, checks: [...(rule.checks ?? []), own] };
  return shape;
}

/** The wire name of a header parameter where it is not the name with dashes. */
export function inHeader<T, P extends Presence, I>(rule: Rule<T, P, I>, header: string): Rule<T, P, I> {
  const shape: RuleShape = { ...rule, header };
  return shape;
}

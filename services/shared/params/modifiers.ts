/**
 * Modifiers that make a key optional, nullable or defaulted, or add a check. A modifier returns a
 * changed copy, so a shared rule stays unchanged.
 */
import type { Presence, Rule, RuleShape } from "./types.ts";

/** The key may be absent; null is still refused unless `nullable`. */
export function optional<T, I>(rule: Rule<T, Presence, I>): Rule<T, "optional", I> {
  const shape: RuleShape = { ...rule, optional: true };
  return shape;
}

/** The value may be null. */
export function nullable<T, P extends Presence, I>(rule: Rule<T, P, I>): Rule<T | null, P, I | null> {
  const shape: RuleShape = { ...rule, nullable: true };
  return shape;
}

/** The default replaces an absent key. It is used unchanged: it is not parsed, trimmed or checked. */
export function withDefault<T, I>(rule: Rule<T, Presence, I>, value: NoInfer<T>): Rule<T, "defaulted", I> {
  const shape: RuleShape = { ...rule, default: value };
  return shape;
}

/** For queries, which cannot express null: `?role=` means null. */
export function emptyIsNull<T, P extends Presence, I>(rule: Rule<T, P, I>): Rule<T | null, P, I | null> {
  const shape: RuleShape = { ...rule, nullable: true, empty: "null" };
  return shape;
}

/** For queries with a default: `?page=` and null count as absent. */
export function emptyIsAbsent<T, P extends Presence, I>(rule: Rule<T, P, I>): Rule<T, P, I | null> {
  const shape: RuleShape = { ...rule, empty: "absent" };
  return shape;
}

/**
 * Adds a check that runs on the parsed value after all other rules.
 * @param check returns undefined, or the sentence after "Value error, "
 */
export function custom<T, P extends Presence, I>(
  rule: Rule<T, P, I>,
  check: (value: NonNullable<T>) => string | undefined,
): Rule<T, P, I> {
  // The rule's own reader has produced a T before any check sees the value; null never gets here.
  const own = check as (value: unknown) => string | undefined;
  const shape: RuleShape = { ...rule, checks: [...(rule.checks ?? []), own] };
  return shape;
}

/** Sets the name of a header parameter if it is not the parameter's name with dashes. */
export function inHeader<T, P extends Presence, I>(rule: Rule<T, P, I>, header: string): Rule<T, P, I> {
  const shape: RuleShape = { ...rule, header };
  return shape;
}

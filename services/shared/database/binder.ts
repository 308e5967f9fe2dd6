// The values of a statement that is put together from parts, in the order of its text.

/** Collects the values of one statement; numbered parameters for `read`, question marks for `execute`. */
export function binder(mark: "$" | "?" = "$"): { values: unknown[]; bind: (value: unknown) => string } {
  const values: unknown[] = [];
  const bind = (value: unknown): string => {
    const place = values.push(value);
    return mark === "$" ? `$${place}` : "?";
  };
  return { values, bind };
}

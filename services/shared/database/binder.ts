// Collects the values of a statement that is composed from parts.

/** `bind` adds a value and returns its placeholder: "$1" for the first. `values` are in the order of their placeholders. */
export function binder(): { values: unknown[]; bind: (value: unknown) => string } {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}

// The values of a statement that is put together from parts, in the order of its text.

/** Collects the values of one statement. `bind` takes a value and answers its parameter, "$1" for the first. */
export function binder(): { values: unknown[]; bind: (value: unknown) => string } {
  const values: unknown[] = [];
  return { values, bind: (value) => `$${values.push(value)}` };
}

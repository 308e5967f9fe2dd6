/** Query strings, read flat: no arrays, no nesting, so a parameter is a text or absent. */
import { parse } from "node:querystring";

const parametersMax = 100;

/**
 * @param search with or without its leading `?`
 * @returns an object without prototype; of a repeated name the last value, as FastAPI takes it. Percent-encoding
 * that is none stays as it is or becomes U+FFFD; names beyond the first 100 are dropped.
 */
export function parseQuery(search: string): Record<string, string> {
  const text = search.startsWith("?") ? search.slice(1) : search;
  const values = parse(text, "&", "=", { maxKeys: parametersMax });
  for (const name in values) {
    const value = values[name];
    if (Array.isArray(value)) values[name] = value.at(-1);
  }
  // Only texts and lists of at least two came out of `parse`, and the lists are gone.
  return values as Record<string, string>;
}

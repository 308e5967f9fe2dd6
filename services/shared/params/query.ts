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
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(parse(text, "&", "=", { maxKeys: parametersMax }))) {
    const last = Array.isArray(value) ? value.at(-1) : value;
    if (last !== undefined) values[name] = last;
  }
  return values;
}

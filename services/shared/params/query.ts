/** Parses query strings into flat values: no arrays and no nesting, so a parameter is a text or absent. */
import { parse } from "node:querystring";

const parametersMax = 100;

/**
 * @param search with or without its leading `?`
 * @returns an object without a prototype; of a repeated name the last value counts, as in FastAPI. Invalid percent-encoding
 * stays unchanged or becomes U+FFFD; names beyond the first 100 are dropped.
 */
export function parseQuery(search: string): Record<string, string> {
  const text = search.startsWith("?") ? search.slice(1) : search;
  const values = parse(text, "&", "=", { maxKeys: parametersMax });
  for (const name in values) {
    const value = values[name];
    if (Array.isArray(value)) values[name] = value.at(-1);
  }
  // `parse` returns only texts and lists, and the lists were replaced.
  return values as Record<string, string>;
}

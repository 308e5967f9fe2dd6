/** Builds the flat parameters of an action from the places of a request. */
import { headerNames } from "./compile.ts";
import type { ParamSources } from "./types.ts";

type Values = Readonly<Record<string, unknown>>;

/** The values of a request. Header names are in lower case, as Node.js writes them. */
export interface Sent {
  path: Values;
  query: Values;
  header: Values;
  /** Undefined if there is no body or it is not an object. */
  body: Values | undefined;
}

/**
 * Takes from every place only what is declared for that place, so that a `user_id` in the body or the query
 * never passes for the one in the path. Only own properties count.
 */
export function compileGather(places: ParamSources): (sent: Sent) => Record<string, unknown> {
  const paths = Object.keys(places.path ?? {});
  const queries = Object.keys(places.query ?? {});
  const headers = [...headerNames(places)];
  const fields = Object.keys(places.body ?? {});
  return ({ path, query, header, body = {} }) => {
    const flat: Record<string, unknown> = Object.create(null);
    for (const name of paths) if (Object.hasOwn(path, name)) flat[name] = path[name];
    for (const name of queries) if (Object.hasOwn(query, name)) flat[name] = query[name];
    for (const [wire, name] of headers) if (Object.hasOwn(header, wire)) flat[name] = header[wire];
    for (const name of fields) if (Object.hasOwn(body, name)) flat[name] = body[name];
    return flat;
  };
}

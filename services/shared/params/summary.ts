// Describes an action's parameters in short, for a person who calls it by hand: `{user_id: "integer", reason: "text, optional"}`.
import { isRequired } from "./json-schema.ts";
import { paramSources, type ParamSources, type RuleShape } from "./types.ts";

/** @returns a short text per parameter; a default is shown as `else <value>` */
export function paramSummary(places: ParamSources): Record<string, string> {
  const fields = paramSources.flatMap((place) => Object.entries(places[place] ?? {}));
  return Object.fromEntries(fields.map(([name, shape]) => [name, inWords(shape)]));
}

function inWords(shape: RuleShape): string {
  const kind = shape.type === "oneOf" ? shape.values.join(" | ") : kinds[shape.type];
  const rest = shape.default === undefined ? "optional" : `else ${JSON.stringify(shape.default)}`;
  return [kind, ...(shape.nullable === true ? ["or null"] : []), ...(isRequired(shape) ? [] : [rest])].join(
    ", ",
  );
}

const kinds: Readonly<Record<Exclude<RuleShape["type"], "oneOf">, string>> = {
  text: "text",
  secretText: "secret text",
  email: "e-mail",
  integer: "integer",
  flag: "true | false",
  listOf: "list (JSON)",
  dictionary: "object (JSON)",
  facts: "object (JSON)",
  anyOf: "JSON",
  plainValue: "text, number, true | false, null or list (JSON)",
  object: "object (JSON)",
  date: "date",
  dateOrTime: "date or time",
  timestamp: "time",
  decimal: "number",
  json: "JSON",
  url: "URL",
};

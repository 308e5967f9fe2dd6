/** Describes the parameters of an action as OpenAPI 3.1 parameter objects and a request body. */
import { isRequired, type JsonSchema, type Lift, objectSchema, toJsonSchema } from "./json-schema.ts";
import type { ParamSources, RuleShape } from "./types.ts";

export interface OpenApiParameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  schema: JsonSchema;
  description?: string;
}

export interface OpenApiRequestBody {
  required: boolean;
  content: { "application/json": { schema: JsonSchema } };
}

/** Without body fields there is no `requestBody`. The body is required if one of its fields is. */
export function parametersAndBody(
  places: ParamSources,
  lift?: Lift,
  bodyName?: string,
): { parameters: OpenApiParameter[]; requestBody?: OpenApiRequestBody } {
  const parameters = (["path", "query", "header"] as const).flatMap((place) =>
    Object.entries(places[place] ?? {}).map(([name, shape]) => parameter(name, place, shape, lift)),
  );
  const fields = places.body ?? {};
  if (Object.keys(fields).length === 0) return { parameters };
  const bare = objectSchema({ fields }, lift);
  const schema =
    bodyName === undefined || lift === undefined ? bare : lift(bodyName, { ...bare, title: bodyName });
  const required = Object.values(fields).some(isRequired);
  return { parameters, requestBody: { required, content: { "application/json": { schema } } } };
}

function parameter(
  name: string,
  place: OpenApiParameter["in"],
  shape: RuleShape,
  lift: Lift | undefined,
): OpenApiParameter {
  const { description, ...schema } = toJsonSchema(shape, lift);
  return {
    name: place === "header" ? (shape.header ?? name.replaceAll("_", "-")) : name,
    in: place,
    required: place === "path" || isRequired(shape),
    schema,
    ...(typeof description === "string" ? { description } : {}),
  };
}

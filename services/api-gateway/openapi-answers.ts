// The answers of operations in OpenAPI. The refusals themselves come from refusals-of.ts.
import type { ActionContract } from "../shared/bus/bus.ts";
import { type Lift, toJsonSchema } from "../shared/params/json-schema.ts";
import { object } from "../shared/params/results.ts";
import { listOf, oneOf, text } from "../shared/params/rules.ts";
import { type ErrorStatus, errorStatuses, refusalsOf, usualCodes } from "./refusals-of.ts";
import type { Route } from "./routes.ts";

/** The body of every error except 422. @param codes possible values of `code`; an empty list allows any */
export function errorShape(codes: readonly string[], name: string) {
  const description = "A word for programs; it stays the same when sentences change.";
  const [first, ...rest] = codes;
  return object(
    {
      detail: text({ description: "A sentence for people." }),
      code: first === undefined ? text({ description }) : oneOf([first, ...rest], { description }),
    },
    { name },
  );
}

const faultShape = object(
  {
    loc: listOf(text(), { description: "Where: path, query, header or body, then the name and positions." }),
    msg: text(),
    type: text(),
  },
  { name: "ValidationError" },
);
/** Named as in FastAPI. */
export const validationErrorShape = object({ detail: listOf(faultShape) }, { name: "HTTPValidationError" });

interface Answer {
  name: string;
  description: string;
  header?: "WWW-Authenticate" | "Retry-After";
}

const answers: Readonly<Record<ErrorStatus, Answer>> = {
  400: { name: "BadRequest", description: "What the request names cannot be used, or it is no valid HTTP." },
  401: {
    name: "Unauthorized",
    description: "No valid token, or a wrong sign-in.",
    header: "WWW-Authenticate",
  },
  403: { name: "Forbidden", description: "The caller may not do this." },
  404: { name: "NotFound", description: "It does not exist, or is another tenant's." },
  408: { name: "RequestTimeout", description: "Headers and body did not come within their time." },
  409: { name: "Conflict", description: "The present state does not allow it." },
  413: {
    name: "BodyTooLarge",
    description:
      "The body is larger than 1 MB, a notification of a provider than 256 kB, any other body without a token than 16 kB.",
  },
  415: { name: "UnsupportedEncoding", description: "The body has a Content-Encoding." },
  422: { name: "Unprocessable", description: "All faults of the parameters." },
  429: { name: "TooManyRequests", description: "Too many requests.", header: "Retry-After" },
  431: { name: "HeadersTooLarge", description: "The headers are larger than 16 kB, or more than 100." },
  503: {
    name: "Unavailable",
    description: "Something needed is away for the moment.",
    header: "Retry-After",
  },
};

/** A file, without a further description. */
export const fileAnswer = {
  description: "The file.",
  headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } },
  content: { "application/zstd": { schema: { type: "string", format: "binary" } } },
};

const requestIdReference = { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } };

function errorAnswer(status: ErrorStatus, codes: readonly string[], schemaName: string, lift: Lift): object {
  const { description, header } = answers[status];
  const shape = status === 422 ? validationErrorShape : errorShape(codes, schemaName);
  const own = header === undefined ? {} : { [header]: { $ref: `#/components/headers/${header}` } };
  const headers = { ...requestIdReference, ...own };
  return { description, headers, content: { "application/json": { schema: toJsonSchema(shape, lift) } } };
}

/** By status. An answer that most operations share is a component. @param operationName "UsersCreate" */
export function errorAnswers(
  route: Route,
  contract: ActionContract,
  operationName: string,
  lift: Lift,
): [ErrorStatus, object][] {
  return [...refusalsOf(route, contract)].map(([status, codes]) => {
    const { name } = answers[status];
    if (codes.join() === (usualCodes[status] ?? []).join())
      return [status, { $ref: `#/components/responses/${name}` }];
    return [status, errorAnswer(status, codes, `${operationName}${name}`, lift)];
  });
}

export function successAnswer(status: number, { result, answerHeaders }: ActionContract, lift: Lift): object {
  const own = Object.entries(answerHeaders ?? {}).map(([name, shape]) => {
    const { description, ...schema } = toJsonSchema(shape, lift);
    return [shape.header ?? name, { ...(description === undefined ? {} : { description }), schema }] as const;
  });
  const headers = { ...requestIdReference, ...Object.fromEntries(own) };
  if (status === 204 || result === undefined) return { description: "Done.", headers };
  const content = { "application/json": { schema: toJsonSchema(result, lift) } };
  return {
    description: status === 202 ? "Taken in hand." : "Done.",
    headers,
    content,
  };
}

/** The components that this file refers to. */
export function answerComponents(lift: Lift): { responses: object; headers: object } {
  const shared = errorStatuses.filter((status) => status === 422 || status in usualCodes);
  const responses = shared.map((status) => {
    const { name } = answers[status];
    return [name, errorAnswer(status, usualCodes[status] ?? [], `${name}Error`, lift)] as const;
  });
  return { responses: Object.fromEntries(responses), headers: commonHeaders };
}

const commonHeaders = {
  "X-Request-Id": {
    description: "The name of this call in the logs: the client's own, if it sent an acceptable one.",
    schema: { type: "string", pattern: "^[\\w-]{8,64}$" },
  },
  "Retry-After": {
    description: "Seconds until another try makes sense.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "How to authenticate.", schema: { type: "string", const: "Bearer" } },
};

// How operations can answer other than by success: by rule, from what the contract says, so that a new route is
// described without anybody thinking of it.
import type { ActionContract } from "../shared/bus.ts";
import { type Lift, toJsonSchema } from "../shared/params/json-schema.ts";
import { object } from "../shared/params/results.ts";
import { listOf, text } from "../shared/params/rules.ts";
import type { AnyRule } from "../shared/params/types.ts";
import type { ActionName, Route } from "./routes.ts";

export type ErrorStatus = 400 | 401 | 403 | 404 | 409 | 413 | 422 | 429 | 503;

/** What every error but 422 is answered with. */
export const errorShape = object(
  {
    detail: text({ description: "A sentence for people." }),
    code: text({ description: "A word for programs; it stays the same when sentences change." }),
  },
  { name: "Error" },
);

const faultShape = object(
  {
    loc: listOf(text(), { description: "Where: path, query, header or body, then the name and positions." }),
    msg: text(),
    type: text(),
  },
  { name: "ValidationError" },
);
/** Named as FastAPI names it. */
export const validationErrorShape = object({ detail: listOf(faultShape) }, { name: "HTTPValidationError" });

interface Answer {
  name: string;
  description: string;
  shape: AnyRule;
  header?: "WWW-Authenticate" | "Retry-After";
}

const answers: Record<ErrorStatus, Answer> = {
  400: { name: "BadRequest", description: "What the request names cannot be used.", shape: errorShape },
  401: {
    name: "Unauthorized",
    description: "No valid token, or a wrong sign-in.",
    shape: errorShape,
    header: "WWW-Authenticate",
  },
  403: { name: "Forbidden", description: "The caller may not do this.", shape: errorShape },
  404: { name: "NotFound", description: "It does not exist, or is another tenant's.", shape: errorShape },
  409: { name: "Conflict", description: "The present state does not allow it.", shape: errorShape },
  413: {
    name: "BodyTooLarge",
    description:
      "The body is larger than 1 MB, a notification of a provider than 256 kB, any other body without a token than 16 kB.",
    shape: errorShape,
  },
  422: { name: "Unprocessable", description: "All faults of the parameters.", shape: validationErrorShape },
  429: {
    name: "TooManyRequests",
    description: "Too many requests.",
    shape: errorShape,
    header: "Retry-After",
  },
  503: {
    name: "Unavailable",
    description: "Something needed is away for the moment.",
    shape: errorShape,
    header: "Retry-After",
  },
};

/** What actions open to anyone, or to all who are signed in, decide for themselves; of the others the rules below know enough. */
const decidedByAction: Partial<Record<ActionName, readonly ErrorStatus[]>> = {
  "auth.login": [401, 403],
  "backups.download": [409],
  "backups.restore": [404],
  "backups.use_ticket": [404],
  "accounts.register": [403, 404, 409],
  "accounts.verify_email": [400],
  "accounts.reset_password": [400],
  "departments.list_public": [404],
  "messenger.link": [400, 409],
  "messenger.subscribe": [403, 409],
  "messenger.take_update": [400, 403, 404],
  "payments.take_card": [400, 409, 422],
  "payments.take_wallet": [400, 409],
  "patients.create": [403, 409],
  "patients.update": [403, 409],
};

/** @returns ascending, each once */
export function errorStatusesOf({ action, method }: Route, contract: ActionContract): ErrorStatus[] {
  const { access, path = {}, query = {}, header = {}, body, rawBody } = contract;
  const byRole = access.who === "roles";
  const takesParameters = [path, query, header, body ?? {}].some((place) => Object.keys(place).length > 0);
  const rules: [ErrorStatus, boolean][] = [
    [401, access.who !== "public"],
    [403, byRole],
    [404, Object.keys(path).length > 0],
    [409, byRole && method !== "GET"],
    [413, body !== undefined],
    [422, takesParameters && rawBody === undefined],
    [429, true],
    [503, true],
  ];
  const ruled = rules.filter(([, applies]) => applies).map(([status]) => status);
  return [...new Set([...ruled, ...(decidedByAction[action] ?? [])])].sort((a, b) => a - b);
}

/** A file, of which nothing is said but that it is one. */
export const fileAnswer = {
  description: "The file.",
  headers: { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } },
  content: { "application/zstd": { schema: { type: "string", format: "binary" } } },
};

export function answerReference(status: ErrorStatus): object {
  return { $ref: `#/components/responses/${answers[status].name}` };
}

const requestIdReference = { "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } };

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

/** The components that the references of this file point to. */
export function answerComponents(lift: Lift): { responses: object; headers: object } {
  const responses = Object.values(answers).map(({ name, description, shape, header }) => {
    const own = header === undefined ? {} : { [header]: { $ref: `#/components/headers/${header}` } };
    const headers = { ...requestIdReference, ...own };
    const content = { "application/json": { schema: toJsonSchema(shape, lift) } };
    return [name, { description, headers, content }] as const;
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

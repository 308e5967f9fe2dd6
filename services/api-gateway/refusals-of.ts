// The statuses and codes with which an operation can refuse. Most follow from the contract by rules, so a new route is
// described automatically. The codes that an action decides itself are declared in its contract (`refuses`).
import type { ActionContract } from "../shared/bus/bus.ts";
import type { Route } from "./routes.ts";

export const errorStatuses = [400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 431, 503] as const;
export type ErrorStatus = (typeof errorStatuses)[number];

/** Refusals of the gateway, the bus and the database, for every action. */
export const usualCodes: Readonly<Partial<Record<ErrorStatus, readonly string[]>>> = {
  400: ["malformed_request", "request_aborted"],
  401: ["not_authenticated", "invalid_token"],
  403: ["forbidden"],
  404: ["not_found"],
  408: ["request_timeout"],
  413: ["body_too_large"],
  415: ["unsupported_encoding"],
  429: ["too_many_requests"],
  431: ["headers_too_large"],
  503: ["unavailable", "busy", "overloaded", "answer_too_large", "tenant_restoring"],
};

/** @returns in ascending order of status; 422 has no codes, because its answer lists the failures */
export function refusalsOf({ path: address }: Route, contract: ActionContract): Map<ErrorStatus, string[]> {
  const { access, path = {}, query = {}, header = {}, body, rawBody, refuses = {} } = contract;
  const byRole = access.who === "roles";
  const hasToken = access.who !== "public";
  const namesTenant = "tenant_id" in { ...query, ...body };
  const takesParameters = [path, query, header, body ?? {}].some((place) => Object.keys(place).length > 0);
  const rules: Readonly<Record<ErrorStatus, boolean>> = {
    400: true,
    401: hasToken,
    403: byRole,
    404: address.includes("{"),
    408: true,
    409: false,
    413: true,
    415: body !== undefined,
    422: takesParameters && rawBody === undefined,
    429: true,
    431: true,
    503: true,
  };
  const found = errorStatuses.map((status): [ErrorStatus, string[]] => {
    const usual = rules[status] ? (usualCodes[status] ?? []) : [];
    const tenant = status === 403 && byRole && namesTenant ? ["foreign_tenant"] : [];
    const own = status in refuses ? (refuses[status as keyof typeof refuses] ?? []) : [];
    return [status, [...new Set([...usual, ...tenant, ...own])]];
  });
  return new Map(
    found.filter(([status, codes]) => codes.length > 0 || (status === 422 && (rules[422] || 422 in refuses))),
  );
}

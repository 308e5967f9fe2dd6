// Turns an error into the answer for the client: `{detail, code}`, or `{detail: [...]}` for validation. An unknown error
// reveals nothing about itself.
import type { Errors } from "moleculer";
import { exposedFacts } from "../shared/errors.ts";
import { translate } from "../shared/failures.ts";

export interface ErrorResponse {
  status: number;
  code: string;
  body: string;
  headers: Record<string, string>;
  /** Whether the original error is logged. */
  noteworthy: boolean;
}

export function toErrorResponse(error: unknown): ErrorResponse {
  const { publicError: told, shouldLog: noteworthy } = translate(error);
  const facts = exposedFacts(told);
  if (facts === undefined) return respond(500, "internal_error", "Internal error", {}, noteworthy);
  // exposedFacts recognises only ServiceError, also after the bus: name, code, type and data are preserved.
  const { code: status, type: code, message } = told as Errors.MoleculerError;
  if (facts.failures !== undefined) {
    return { status, code, body: JSON.stringify({ detail: facts.failures }), headers: {}, noteworthy };
  }
  const headers: Record<string, string> = {};
  if (status === 401) headers["WWW-Authenticate"] = "Bearer";
  if (facts.retryAfterSeconds !== undefined) headers["Retry-After"] = String(facts.retryAfterSeconds);
  return respond(status, code, message, headers, noteworthy);
}

function respond(
  status: number,
  code: string,
  detail: string,
  headers: Record<string, string>,
  noteworthy: boolean,
): ErrorResponse {
  return { status, code, body: JSON.stringify({ detail, code }), headers, noteworthy };
}

// From an error to what a client reads: `{detail, code}`, or `{detail: [...]}` for validation. Nothing of an error that
// is not our own ever gets out.
import type { Errors } from "moleculer";
import { exposedFacts } from "../shared/errors.ts";
import { translate } from "../shared/failures.ts";

export interface ErrorResponse {
  status: number;
  code: string;
  body: string;
  headers: Record<string, string>;
  /** The original is worth a line in the log. */
  noteworthy: boolean;
}

export function toErrorResponse(error: unknown): ErrorResponse {
  const { publicError: told, shouldLog: noteworthy } = translate(error);
  const facts = exposedFacts(told);
  if (facts === undefined) return respond(500, "internal_error", "Internal error", {}, noteworthy);
  // exposedFacts is only ever true of ServiceError, also after the bus: name, code, type and data survive it.
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

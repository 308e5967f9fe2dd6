// The errors of the service. Only their text reaches a client. Each has an HTTP status, a stable code in snake_case and one
// sentence. Over the bus they keep name, code, type and data, but not their class. So they are recognised by `data.exposed` and
// never by instanceof.
import { Errors } from "moleculer";
import type { Failure } from "./params/types.ts";

export interface ExposedFacts {
  exposed: true;
  failures?: Failure[];
  retryAfterSeconds?: number;
}

/** The base of all errors that reach a client. @param status of HTTP @param code in snake_case, part of the interface */
export class ServiceError extends Errors.MoleculerError {
  constructor(status: number, code: string, sentence: string, facts: Omit<ExposedFacts, "exposed"> = {}) {
    super(sentence, status, code, { exposed: true, ...facts } satisfies ExposedFacts);
    this.name = new.target.name;
  }
}

/** 400: the request is valid, but something it names cannot be used (a used token). */
export class BadRequest extends ServiceError {
  constructor(code: string, sentence: string) {
    super(400, code, sentence);
  }
}

/** 401: no valid identity. The same text for every reason, so that a caller cannot probe for one. */
export class Unauthorized extends ServiceError {
  constructor(code = "not_authenticated", sentence = "Not authenticated") {
    super(401, code, sentence);
  }
}

/** For an invalid token, or for a call during which the caller's session has ended. */
export const sessionEnded = () => new Unauthorized("invalid_token", "The token is invalid or expired");

/** 403: the caller is known but lacks the permission. */
export class Forbidden extends ServiceError {
  constructor(code = "forbidden", sentence = "Not enough permissions") {
    super(403, code, sentence);
  }
}

/** 403 for a tenant other than the caller's. */
export const foreignTenant = () => new Forbidden("foreign_tenant", "This tenant is not yours");

/** 404: absent, deleted, or of another tenant. A client cannot distinguish the three. */
export class NotFound extends ServiceError {
  constructor(thing: string) {
    super(404, "not_found", `${thing} not found`);
  }

  /** Makes "User" of `user_id`. The answer is the same for an id out of range and for one that does not exist. */
  static named(parameter: string): NotFound {
    const word = parameter.replace(/_id$/, "").replace(/^dept$/, "department");
    return new NotFound(word.charAt(0).toUpperCase() + word.slice(1));
  }
}

/** 409: the request contradicts the current state. */
export class Conflict extends ServiceError {
  constructor(code: string, sentence: string) {
    super(409, code, sentence);
  }
}

/** 422: all failures of a request together, in FastAPI's vocabulary. */
export class Invalid extends ServiceError {
  constructor(failures: Failure[]) {
    super(422, "validation_error", "Validation error", { failures });
  }

  /** A failure of one body field, for a rule that needs the database or the caller. */
  static body(field: string, sentence: string): Invalid {
    return new Invalid([{ loc: ["body", field], msg: `Value error, ${sentence}`, type: "value_error" }]);
  }
}

/** 429 with `Retry-After` in seconds. */
export class TooManyRequests extends ServiceError {
  constructor(retryAfterSeconds: number) {
    super(429, "too_many_requests", "Too many requests", { retryAfterSeconds });
  }
}

/** 503 with `Retry-After` in seconds. */
export class Unavailable extends ServiceError {
  constructor(code = "unavailable", sentence = "Temporarily unavailable", retryAfterSeconds = 2) {
    super(503, code, sentence, { retryAfterSeconds });
  }
}

/** Never shown to a client: this process cannot answer, but another one can, and the call is sent there. */
export class AskAnother extends Error {}

/** 503 while a restore has frozen the tenant. */
export const tenantRestoring = () =>
  new Unavailable("tenant_restoring", "This tenant is being restored from a backup", 5);

/** @returns the facts of an error of ours, also after it crossed the bus; undefined for any other error */
export function exposedFacts(error: unknown): ExposedFacts | undefined {
  if (typeof error !== "object" || error === null || !("data" in error)) return undefined;
  const { data } = error;
  if (typeof data !== "object" || data === null || !("exposed" in data) || data.exposed !== true)
    return undefined;
  // Only ServiceError sets the flag, and its constructor fixes the types of the other fields.
  return data as ExposedFacts;
}

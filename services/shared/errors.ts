// The service's own errors: the only ones whose text reaches a client. Each carries the HTTP status, a stable
// snake_case code and one sentence. They survive the bus as name, code, type and data (not as instances), so
// everything here is told apart by `data.exposed` and never by instanceof.
import { Errors } from "moleculer";
import type { Failure } from "./params/types.ts";

export interface ExposedFacts {
  exposed: true;
  failures?: Failure[];
  retryAfterSeconds?: number;
}

export class ServiceError extends Errors.MoleculerError {
  constructor(status: number, code: string, sentence: string, facts: Omit<ExposedFacts, "exposed"> = {}) {
    super(sentence, status, code, { exposed: true, ...facts } satisfies ExposedFacts);
    this.name = new.target.name;
  }
}

/** 400: the request is well formed but what it names cannot be used (a spent token). */
export class BadRequest extends ServiceError {
  constructor(code: string, sentence: string) {
    super(400, code, sentence);
  }
}

/** 401: no usable identity. The same words for every reason, so that nothing can be probed. */
export class Unauthorized extends ServiceError {
  constructor(code = "not_authenticated", sentence = "Not authenticated") {
    super(401, code, sentence);
  }
}

/** Of a token, or of a call that outlived its caller's session. */
export const sessionEnded = () => new Unauthorized("invalid_token", "The token is invalid or expired");

export class Forbidden extends ServiceError {
  constructor(code = "forbidden", sentence = "Not enough permissions") {
    super(403, code, sentence);
  }
}

export const foreignTenant = () => new Forbidden("foreign_tenant", "This tenant is not yours");

/** 404: absent, deleted or another tenant's: the three must stay indistinguishable. */
export class NotFound extends ServiceError {
  constructor(thing: string) {
    super(404, "not_found", `${thing} not found`);
  }

  /** `user_id` → "User": the same for an id out of range and one that is not there. */
  static named(parameter: string): NotFound {
    const word = parameter.replace(/_id$/, "").replace(/^dept$/, "department");
    return new NotFound(word.charAt(0).toUpperCase() + word.slice(1));
  }
}

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

  /** A rule of ours on one body field that needed the database or the caller to decide. */
  static body(field: string, sentence: string): Invalid {
    return new Invalid([{ loc: ["body", field], msg: `Value error, ${sentence}`, type: "value_error" }]);
  }
}

export class TooManyRequests extends ServiceError {
  constructor(retryAfterSeconds: number) {
    super(429, "too_many_requests", "Too many requests", { retryAfterSeconds });
  }
}

export class Unavailable extends ServiceError {
  constructor(code = "unavailable", sentence = "Temporarily unavailable", retryAfterSeconds = 2) {
    super(503, code, sentence, { retryAfterSeconds });
  }
}

/** Not the caller's to see: this process cannot answer, and another one can. It is asked instead. */
export class AskAnother extends Error {}

export const tenantRestoring = () =>
  new Unavailable("tenant_restoring", "This tenant is being restored from a backup", 5);

export function exposedFacts(error: unknown): ExposedFacts | undefined {
  if (typeof error !== "object" || error === null || !("data" in error)) return undefined;
  const { data } = error;
  if (typeof data !== "object" || data === null || !("exposed" in data) || data.exposed !== true)
    return undefined;
  // The flag is only ever set by ServiceError, whose constructor fixes the other fields' types.
  return data as ExposedFacts;
}

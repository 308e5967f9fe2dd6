/**
 * One entry of a 422 answer in the words of FastAPI and Pydantic, and the few entries that concern a whole request.
 * Entries never repeat the input: it may be a secret.
 */
import type { Failure } from "./types.ts";

/** Without `loc`: a caller that knows the place adds it by `locate`. */
export function failure(type: string, msg: string): Failure {
  return { loc: [], msg, type };
}

/** For a rule of our own. `sentence` starts in lower case and has no full stop. */
export function valueError(sentence: string): Failure {
  return failure("value_error", `Value error, ${sentence}`);
}

/** A required value is absent. */
export function missing(): Failure {
  return failure("missing", "Field required");
}

/** The whole body is absent although one of its fields is required. */
export function bodyMissing(): Failure {
  return { ...missing(), loc: ["body"] };
}

/** The value is not an object with fields. */
export function notFields(): Failure {
  return failure(
    "model_attributes_type",
    "Input should be a valid dictionary or object to extract fields from",
  );
}

/** The body is JSON but not an object, or its media type is not JSON. */
export function bodyNotAnObject(): Failure {
  return { ...notFields(), loc: ["body"] };
}

/** Prepends `prefix` to the location of every failure from index `from` on. @returns the new length */
export function locate(failures: Failure[], from: number, prefix: readonly string[]): number {
  for (let i = from; i < failures.length; i++) {
    const found = failures[i];
    if (found !== undefined) found.loc.unshift(...prefix);
  }
  return failures.length;
}

/**
 * One entry of a 422 answer, in the words FastAPI and Pydantic use, and the few that concern a whole request.
 * Entries carry no echo of the input: what was sent may be a secret.
 */
import type { Failure } from "./types.ts";

/** Without `loc`: whoever knows the place puts it in front, see `locate`. */
export function failure(type: string, msg: string): Failure {
  return { loc: [], msg, type };
}

/** A rule of our own: `sentence` starts in lower case and has no full stop. */
export function valueError(sentence: string): Failure {
  return failure("value_error", `Value error, ${sentence}`);
}

export function missing(): Failure {
  return failure("missing", "Field required");
}

/** The whole body is absent although a field of it is required. */
export function bodyMissing(): Failure {
  return { ...missing(), loc: ["body"] };
}

export function notFields(): Failure {
  return failure(
    "model_attributes_type",
    "Input should be a valid dictionary or object to extract fields from",
  );
}

/** The body is JSON but no object, or its media type is not JSON. */
export function bodyNotAnObject(): Failure {
  return { ...notFields(), loc: ["body"] };
}

/** Puts `prefix` before the location of every failure from index `from` on; answers the new length. */
export function locate(failures: Failure[], from: number, prefix: readonly string[]): number {
  for (let i = from; i < failures.length; i++) {
    const found = failures[i];
    if (found !== undefined) found.loc.unshift(...prefix);
  }
  return failures.length;
}

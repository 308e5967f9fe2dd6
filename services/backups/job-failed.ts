// A job that finds out by itself why it cannot go on.
import type { FailureCode } from "./job.rules.ts";

/** Thrown where a job finds out by itself. */
export class JobFailed extends Error {
  override readonly name = "JobFailed";
  readonly code: FailureCode;

  constructor(code: FailureCode, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}

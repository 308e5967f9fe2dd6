// The error of a job that cannot continue for a known reason.
import type { FailureCode } from "./job.rules.ts";

/** @param code the reason */
export class JobFailed extends Error {
  override readonly name = "JobFailed";
  readonly code: FailureCode;

  constructor(code: FailureCode, options?: ErrorOptions) {
    super(code, options);
    this.code = code;
  }
}

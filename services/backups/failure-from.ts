// Maps any error in a job to the job's failure.
import { ArchiveDamaged } from "../shared/archive/sealed-stream.ts";
import { isLockConflict, isUnreadable, isViolation, sqlStates } from "../shared/database/sql-states.ts";
import { errorCode } from "../shared/start-error.ts";
import { Conflict, NotFound, Unavailable } from "../shared/errors.ts";
import { translate } from "../shared/failures.ts";
import { StoreError } from "../../mixins/store/store.ts";
import { JobFailed } from "./job-failed.ts";
import { type Failure, type FailureCode, failureOf } from "./job.rules.ts";

const byFault = {
  not_found: "archive_missing",
  full: "store_full",
  refused: "store_refused",
  unavailable: "store_unavailable",
} as const satisfies Record<StoreError["fault"], FailureCode>;

/** @returns the reason of the failure; a `JobFailed` thrown in a stream arrives as its cause */
export function failureFrom(error: unknown): Failure {
  if (error instanceof JobFailed) return failureOf(error.code);
  if (error instanceof ArchiveDamaged) return failureOf("archive_damaged");
  if (error instanceof StoreError) return failureOf(byFault[error.fault]);
  const code = errorCode(error);
  if (isLockConflict(code)) return failureOf("still_busy");
  if (code === sqlStates.diskFull) return failureOf("postgres_full");
  if (isViolation(code)) return failureOf("conflict_with_present");
  // The database does not have the key that a row of the archive names.
  if (code === sqlStates.keyDestroyed) return failureOf("keys_unreadable");
  if (isUnreadable(code)) return failureOf("archive_damaged");
  const { publicError: told } = translate(error);
  const type = "type" in told ? told.type : "";
  if (type === "keys_unreadable") return failureOf("keys_unreadable");
  if (type === "unavailable" || type === "busy") return failureOf("postgres_unavailable");
  const message = error instanceof Error ? error.message : "";
  if (/Connection terminated|Client was closed|connection error and is not queryable/i.test(message))
    return failureOf("postgres_unavailable");
  return failureOf("internal_error");
}

/** For a request without a job: the failure becomes the answer. */
export function asAnswer(error: unknown): unknown {
  const { code, sentence, passing } = failureFrom(error);
  if (code === "internal_error") return error;
  if (passing) return new Unavailable(code, sentence);
  return code === "archive_missing" ? new NotFound("Backup") : new Conflict(code, sentence);
}

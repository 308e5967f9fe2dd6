// The states of a job, and the texts of its failures.

export const jobStatuses = ["queued", "running", "verifying", "succeeded", "failed"] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** A job that starts again, because its worker died or a dependency was unavailable, returns to `queued`. */
const transitions: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  queued: ["running", "failed"],
  running: ["verifying", "succeeded", "failed", "queued"],
  verifying: ["succeeded", "failed", "queued"],
  succeeded: [],
  failed: [],
};

/** The states of a job that has not ended. */
export const underWay = jobStatuses.filter((status) => transitions[status].length > 0);

/** The states from which a job may change to `status`. */
export const before = (status: JobStatus): JobStatus[] =>
  jobStatuses.filter((from) => transitions[from].includes(status));

/**
 * Delays between the attempts when a dependency is unavailable. A person waits for a requested job. A
 * scheduled one is retried for 42 minutes, so that a store outage of half an hour does not cost the night's
 * backup.
 */
const pauseSeconds = { byHand: [5, 30, 120], byClock: [5, 30, 120, 600, 1_800] } as const;

/** Seconds until the next attempt. @returns undefined after the last attempt */
export function pauseAfter(tries: number, byClock: boolean): number | undefined {
  return pauseSeconds[byClock ? "byClock" : "byHand"][tries - 1];
}

/** Maximum of attempts. */
export const triesMax = (byClock: boolean) => pauseSeconds[byClock ? "byClock" : "byHand"].length + 1;

/** Why a job failed, for programs and for people. It contains no data of the tenant. */
export interface Failure {
  code: string;
  sentence: string;
  /** Whether the cause is temporary, so that another attempt makes sense. */
  passing: boolean;
}

const failures = {
  archive_damaged: "The archive is damaged, or is not the one it should be; nothing was changed.",
  archive_missing: "The backup is not in the store any more.",
  schema_newer: "The backup was made by a newer version of this service.",
  schema_unknown: "The backup was made by a version whose tables this one cannot bring up to date.",
  foreign_installation: "The backup is of another installation.",
  store_full: "The store has no room left.",
  store_refused: "The store refused: its credentials or rights do not suffice.",
  store_unavailable: "The store could not be reached.",
  postgres_unavailable: "PostgreSQL could not be reached.",
  not_allowed_any_more: "Whoever wanted the restore may not do so any more; nothing was changed.",
  postgres_full: "PostgreSQL has no room left; nothing was changed.",
  laid_out_lost: "What was laid out is gone, as PostgreSQL crashed meanwhile; nothing was changed.",
  tenant_gone: "The tenant does not exist any more.",
  still_busy: "The tenant's last changes did not end in time; nothing was changed.",
  conflict_with_present: "What is to come back collides with what is there now; nothing was changed.",
  not_as_written: "What was read back is not what was written.",
  keys_unavailable: "The service that keeps the keys could not be reached.",
  keys_unreadable: "The keys of the backup are missing, or cannot be opened; nothing was changed.",
  thread_lost: "The thread that moves its bytes ended, or has too much to do.",
  worker_lost: "Its worker died too often.",
  internal_error: "Something went wrong; the log of the service has the reason.",
} as const;

export type FailureCode = keyof typeof failures;
// The keys of a constant object are the keys of its type.
export const failureCodes = Object.keys(failures) as FailureCode[];

const passing: readonly FailureCode[] = [
  "store_unavailable",
  "postgres_unavailable",
  "keys_unavailable",
  "laid_out_lost",
  "still_busy",
  "thread_lost",
];

/** The failure with its text. */
export const failureOf = (code: FailureCode): Failure => ({
  code,
  sentence: failures[code],
  passing: passing.includes(code),
});

/** Jobs that run concurrently in a process. */
export const jobsMax = 2;

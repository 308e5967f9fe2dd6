// The life of a job, and what is told of how it ended.

export const jobStatuses = ["queued", "running", "verifying", "succeeded", "failed"] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** A job that is begun again, because its worker died or what it needs was away, is queued again. */
const transitions: Readonly<Record<JobStatus, readonly JobStatus[]>> = {
  queued: ["running", "failed"],
  running: ["verifying", "succeeded", "failed", "queued"],
  verifying: ["succeeded", "failed", "queued"],
  succeeded: [],
  failed: [],
};

export const underWay = jobStatuses.filter((status) => transitions[status].length > 0);

/** From which a job may come to `status`. */
export const before = (status: JobStatus): JobStatus[] =>
  jobStatuses.filter((from) => transitions[from].includes(status));

/**
 * Between the tries, where what a job needs is away. Somebody waits for what was begun by hand; a store that is
 * away for half an hour at night must not cost the night's backup, and such a job tries for 42 minutes.
 */
const pauseSeconds = { byHand: [5, 30, 120], byClock: [5, 30, 120, 600, 1_800] } as const;

/** @returns undefined when it has been tried often enough */
export function pauseAfter(tries: number, byClock: boolean): number | undefined {
  return pauseSeconds[byClock ? "byClock" : "byHand"][tries - 1];
}

export const triesMax = (byClock: boolean) => pauseSeconds[byClock ? "byClock" : "byHand"].length + 1;

/** Why a job failed, for programs and for people. Nothing of the tenant's is in it. */
export interface Failure {
  code: string;
  sentence: string;
  /** What is away comes back: another try makes sense. */
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
// The keys of a table that is a constant are its type's.
export const failureCodes = Object.keys(failures) as FailureCode[];

const passing: readonly FailureCode[] = [
  "store_unavailable",
  "postgres_unavailable",
  "keys_unavailable",
  "laid_out_lost",
  "still_busy",
  "thread_lost",
];

export const failureOf = (code: FailureCode): Failure => ({
  code,
  sentence: failures[code],
  passing: passing.includes(code),
});

export const jobsMax = 2;

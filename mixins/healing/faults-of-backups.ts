// Known faults of backups.
import type { KnownFault } from "./known-fault.ts";

export const faultsOfBackups = {
  backup_job_abandoned: {
    at: ["backups"],
    title: "A backup or restore whose worker is gone",
    problem:
      "A job is marked as running, no worker has renewed it for two minutes, and the queue no longer holds it. It blocks other jobs.",
    remedy:
      "Gives the job to the queue again. A worker continues it, or ends it as failed after too many attempts.",
    never: "Takes a job from a worker that renews it, or marks a job as succeeded.",
    risk: "low",
    everyMinutes: 1,
    settlesWithinS: 120,
  },
  backup_overdue: {
    at: ["backups"],
    title: "No full backup for too long",
    problem: "The newest full backup is older than BACKUP_AGE_MAX_HOURS, and none is being made.",
    remedy: "Begins a full backup. Its own job says whether it succeeds.",
    never: "Deletes a backup, or begins one while another is being made or restored.",
    risk: "low",
    everyMinutes: 10,
  },
  proof_overdue: {
    at: ["backups"],
    title: "No proven restore for too long",
    problem:
      "For more than nine days no full backup was restored into a scratch schema and compared; it should be weekly.",
    remedy: "Begins the proof of the newest full backup.",
    never: "Touches current rows of any tenant.",
    risk: "low",
    everyMinutes: 30,
    settlesWithinS: 60,
  },
  backup_object_missing: {
    at: ["backups"],
    title: "A backup without its object",
    problem: "A backup is on the list, and its manifest or archive is not in the store.",
    remedy: "Removes it from the list, deletes the rest of it, and no longer keeps its key.",
    never:
      "Acts while the store cannot be reached, or on a backup that a job uses. If many are missing at once, as in a wrong bucket, nothing is done.",
    risk: "high",
    everyMinutes: 30,
    settlesWithinS: 30,
  },
  object_without_backup: {
    at: ["backups"],
    title: "An object without its backup",
    problem:
      "For two hours the store has held an archive that no backup and no job names: the rest of a failed attempt, or a backup that is missing on the list.",
    remedy:
      "Adds a complete archive that its key authenticates to the list again; deletes an archive without a manifest.",
    never: "Deletes an archive with a manifest, or one of another installation.",
    risk: "medium",
    everyMinutes: 60,
  },
  upload_leftovers: {
    at: ["backups"],
    title: "Leftovers of uploads in the store",
    problem:
      "Uploads to the store have not advanced for two hours: the sweep, which aborts them after 45 minutes, does not run.",
    remedy: "Aborts those uploads.",
    never: "Aborts an upload that has advanced within two hours, or touches a complete object.",
    risk: "low",
    everyMinutes: 30,
  },
  freeze_left_behind: {
    at: ["backups"],
    title: "The mark of a restore that no longer runs",
    problem: "A tenant is marked as being restored, and the mark was not renewed for ten minutes.",
    remedy: "Deletes the mark.",
    never: "Ends a freeze that has not expired, or that belongs to a running job.",
    risk: "low",
    everyMinutes: 5,
  },
} as const satisfies Record<string, KnownFault>;

// Known faults of backups.
import type { KnownFault } from "./known-fault.ts";

export const faultsOfBackups = {
  backup_job_abandoned: {
    at: ["backups"],
    title: "A backup or restore that nobody works on",
    problem:
      "A job is under way, for two minutes no worker has said that it still works on it, and the queue has forgotten it. It keeps others from beginning.",
    remedy:
      "Gives the job to the queue again. A worker takes it up, or ends it as failed when it was tried too often.",
    never: "Takes a job from a worker that speaks, or says itself that one has succeeded.",
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
    never: "Touches the present rows of anybody.",
    risk: "low",
    everyMinutes: 30,
    settlesWithinS: 60,
  },
  backup_object_missing: {
    at: ["backups"],
    title: "A backup without its object",
    problem: "A backup is on the list, and its manifest or archive is not in the store.",
    remedy: "Takes it off the list, removes what is left of it, and lets its key end.",
    never:
      "Acts while the store cannot be asked, or on a backup that a job uses. Where many are missing at once, as in a wrong bucket, nothing is done.",
    risk: "high",
    everyMinutes: 30,
    settlesWithinS: 30,
  },
  object_without_backup: {
    at: ["backups"],
    title: "An object without its backup",
    problem:
      "For two hours the store has had an archive that no backup and no job names: what a failed try left, or a backup that the list has lost.",
    remedy:
      "Puts a whole one that its key proves on the list again; deletes an archive that has no manifest.",
    never: "Deletes an archive with a manifest, or one of another installation.",
    risk: "medium",
    everyMinutes: 60,
  },
  upload_leftovers: {
    at: ["backups"],
    title: "Leftovers of uploads in the store",
    problem:
      "Uploads to the store have stood still for two hours: the sweep, which ends them after 45 minutes, does not run.",
    remedy: "Ends those uploads.",
    never: "Ends one that has moved within two hours, or touches an object that is whole.",
    risk: "low",
    everyMinutes: 30,
  },
  freeze_left_behind: {
    at: ["backups"],
    title: "The mark of a restore that no longer runs",
    problem: "A tenant is marked as being restored, and for ten minutes nobody has prolonged it.",
    remedy: "Deletes the mark.",
    never: "Ends a freeze that still holds, or of a job that is being worked on.",
    risk: "low",
    everyMinutes: 5,
  },
} as const satisfies Record<string, KnownFault>;

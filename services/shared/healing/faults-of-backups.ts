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
} as const satisfies Record<string, KnownFault>;

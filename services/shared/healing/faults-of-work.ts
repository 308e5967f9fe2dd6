// Known faults of work under way: jobs, deliveries.
import type { KnownFault } from "./known-fault.ts";

export const faultsOfWork = {
  job_worker_gone: {
    at: [
      "audit",
      "auth",
      "backups",
      "mail",
      "messenger",
      "patients",
      "payments",
      "self-healing",
      "tenants",
      "users",
      "webhooks",
    ],
    title: "A job whose worker is gone",
    problem:
      "A job is marked as being worked on, and for more than two minutes no worker has said that it still is.",
    remedy: "Gives what that worker held back to the queue. Another worker does it.",
    never: "Ends a job whose worker speaks, or deletes one. A job may run again: all of ours bear that.",
    risk: "low",
    everyMinutes: 1,
  },
  job_gave_up: {
    at: [
      "audit",
      "auth",
      "backups",
      "mail",
      "messenger",
      "patients",
      "payments",
      "tenants",
      "users",
      "webhooks",
    ],
    title: "A job that failed too often",
    problem: "A job has spent all of its tries and stays in the queue without being done.",
    remedy: "Gives the job its tries again, so that it is begun at once.",
    never: "Changes what the job is to do, or deletes it.",
    risk: "low",
    everyMinutes: 1,
    settlesWithinS: 60,
  },
  delivery_stuck: {
    at: ["webhooks"],
    title: "A delivery stuck in sending",
    problem:
      "Deliveries to a webhook or chat are due for more than two minutes, and nobody is told to make them.",
    remedy: "Wakes the target: the next free worker makes the deliveries, under the ids that they have.",
    never: "Takes a target from a worker that holds it, makes a delivery twice as due, or skips one.",
    risk: "low",
    everyMinutes: 1,
    settlesWithinS: 60,
  },
} as const satisfies Record<string, KnownFault>;

// Known faults of work under way: jobs, deliveries.
import type { KnownFault } from "./known-fault.ts";

const runJobs = [
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
] as const;

export const faultsOfWork = {
  job_worker_gone: {
    at: [...runJobs, "self-healing"],
    title: "A job whose worker is gone",
    problem: "A job is marked as being worked on, and for more than two minutes no worker has renewed it.",
    remedy: "Gives the jobs of that worker back to the queue. Another worker runs them.",
    never: "Ends a job whose worker renews it, or deletes one. A job may run again: all jobs are idempotent.",
    risk: "low",
    everyMinutes: 1,
  },
  job_gave_up: {
    at: runJobs,
    title: "A job that failed too often",
    problem: "A job has spent all of its tries and stays in the queue without being done.",
    remedy: "Gives the job its tries again, so that it is begun at once.",
    never: "Changes what the job is to do, or deletes it.",
    risk: "low",
    everyMinutes: 1,
    settlesWithinS: 60,
  },
  jobs_waiting: {
    at: runJobs,
    title: "Jobs that nobody takes",
    problem:
      "Jobs of a kind have been due for more than a quarter of an hour, and no worker has taken them: none runs, or all are busy.",
    remedy: null,
    never: "Begins or ends a process. Look at the processes of the service that the task is named after.",
    risk: "medium",
    everyMinutes: 1,
  },
  jobs_failing: {
    at: runJobs,
    title: "Jobs that fail again and again",
    problem:
      "Jobs of a kind have failed five times and more, and are still tried again: mails while the mail server is away, for example.",
    remedy: null,
    never: "Ends such a job. The queue tries it again by itself; the log says why it fails.",
    risk: "medium",
    everyMinutes: 1,
  },
  delivery_stuck: {
    at: ["webhooks"],
    title: "A delivery stuck in sending",
    problem: "Deliveries to a webhook or chat are due for more than two minutes, and no worker was notified.",
    remedy: "Notifies the workers: the next free worker makes the deliveries, under the ids that they have.",
    never: "Takes a target from a worker that holds it, makes a delivery twice as due, or skips one.",
    risk: "low",
    everyMinutes: 1,
    settlesWithinS: 60,
  },
  webhook_failing: {
    at: ["webhooks"],
    title: "A webhook that has failed for days",
    problem:
      "For more than two days nothing but failures has come from a webhook. After five days it is switched off, and its tenant is notified.",
    remedy: null,
    never: "Switches a webhook off, changes its address, or drops its deliveries.",
    risk: "low",
    everyMinutes: 10,
  },
  outbox_lagging: {
    at: ["webhooks"],
    title: "Events that do not become deliveries",
    problem:
      "Events have been in the outbox for more than two minutes: no process with webhooks or the messenger is running, or it cannot keep up.",
    remedy: null,
    never: "Drops or reorders an event. Events in the outbox are delivered when a process runs again.",
    risk: "high",
    everyMinutes: 1,
  },
  link_left_behind: {
    at: ["messenger"],
    title: "A chat of somebody who may no longer be notified",
    problem:
      "A chat is linked to a user who is blocked or deleted, or the link has ended and the chat was not notified.",
    remedy: "Ends the link, cancels its pending deliveries, and notifies the chat.",
    never: "Unlinks a chat whose user is active.",
    risk: "low",
    everyMinutes: 10,
  },
  messenger_registration_lost: {
    at: ["messenger"],
    title: "An endpoint of the messenger that lost its registration",
    problem:
      "Updates are to be posted to us (TELEGRAM_WEBHOOK), but the messenger posts none, posts them elsewhere, or posts only some.",
    remedy: "Registers the endpoint again, with its secret.",
    never: "Acts while the messenger cannot be reached: then the registration is not known.",
    risk: "low",
    everyMinutes: 5,
  },
  messenger_silent: {
    at: ["messenger"],
    title: "A messenger that cannot be reached",
    problem:
      "For ten minutes no request to the messenger succeeded: its token is invalid, another program polls its updates, or the network is blocked.",
    remedy: null,
    never: "Changes the bot's token. Messages wait, and are sent when it can be reached again.",
    risk: "medium",
    everyMinutes: 5,
  },
  payments_unverified: {
    at: ["payments"],
    title: "Notifications of payments that nobody can verify",
    problem:
      "For an hour only notifications with a wrong signature came from a provider, whose signatures were right within the last week: its secret was changed there and not here.",
    remedy: null,
    never: "Acts on a notification that is not verified. The provider sends unanswered notifications again.",
    risk: "high",
    everyMinutes: 10,
  },
  session_idle_in_transaction: {
    at: ["backups", "crypto", "self-healing", "users", "webhooks"],
    title: "A connection that holds a transaction and does nothing",
    problem:
      "A connection of one of our logins has been idle within a transaction for longer than IDLE_IN_TRANSACTION_MAX_SECONDS. It keeps rows locked and dead rows from being vacuumed.",
    remedy: "Ends that connection. Its transaction is rolled back.",
    never:
      "Ends a connection that runs a statement, that a backup or restore has opened, or that is another login's.",
    risk: "medium",
    everyMinutes: 1,
  },
} as const satisfies Record<string, KnownFault>;

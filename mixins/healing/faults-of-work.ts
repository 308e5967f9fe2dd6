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
    problem:
      "A job is marked as being worked on, and for more than two minutes no worker has said that it still is.",
    remedy: "Gives what that worker held back to the queue. Another worker does it.",
    never: "Ends a job whose worker speaks, or deletes one. A job may run again: all of ours bear that.",
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
    never: "Ends such a job. The queue tries it again by itself; why it fails stands in the log.",
    risk: "medium",
    everyMinutes: 1,
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
  webhook_failing: {
    at: ["webhooks"],
    title: "A webhook that has failed for days",
    problem:
      "For more than two days nothing but failures has come from a webhook. After five days it is switched off, and its tenant is told.",
    remedy: null,
    never: "Switches a webhook off, changes its address, or drops what is to be told to it.",
    risk: "low",
    everyMinutes: 10,
  },
  outbox_lagging: {
    at: ["webhooks"],
    title: "Events that do not become deliveries",
    problem:
      "Events have been in the outbox for more than two minutes: no process with webhooks or the messenger works, or it cannot keep up.",
    remedy: null,
    never: "Drops or reorders an event. What is in the outbox is told when a process works again.",
    risk: "high",
    everyMinutes: 1,
  },
  link_left_behind: {
    at: ["messenger"],
    title: "A chat of somebody who may not be told any more",
    problem:
      "A chat is linked to a user who is blocked or deleted, or its end was not followed by the word to the chat.",
    remedy: "Ends the link, cancels what is on its way to it, and tells the chat.",
    never: "Unlinks a chat whose user is active.",
    risk: "low",
    everyMinutes: 10,
  },
  messenger_registration_lost: {
    at: ["messenger"],
    title: "An endpoint of the messenger that lost its registration",
    problem:
      "Updates are to be posted to us (TELEGRAM_WEBHOOK), and the messenger posts them nowhere, elsewhere, or not all of them.",
    remedy: "Registers the endpoint again, with its secret.",
    never: "Acts while the messenger is not spoken with: then there is no saying what is registered.",
    risk: "low",
    everyMinutes: 5,
  },
  messenger_silent: {
    at: ["messenger"],
    title: "A messenger that is not reached",
    problem:
      "For ten minutes nobody could speak with the messenger: its token is not good, somebody else asks for its updates, or the way is shut.",
    remedy: null,
    never: "Changes the bot's token. Messages wait, and are sent when it is reached again.",
    risk: "medium",
    everyMinutes: 5,
  },
  payments_unverified: {
    at: ["payments"],
    title: "Notifications of payments that nobody can verify",
    problem:
      "For an hour only notifications with a wrong signature came from a provider, whose signatures were right within the last week: its secret was changed there and not here.",
    remedy: null,
    never:
      "Acts on a notification that is not verified. The provider sends those again that it was not answered.",
    risk: "high",
    everyMinutes: 10,
  },
  session_idle_in_transaction: {
    at: ["backups", "crypto", "self-healing", "users", "webhooks"],
    title: "A connection that holds a transaction and does nothing",
    problem:
      "A connection of one of our logins has been idle within a transaction for longer than IDLE_IN_TRANSACTION_MAX_SECONDS. It keeps rows locked and dead rows from being vacuumed.",
    remedy: "Ends that connection. Its transaction is undone.",
    never:
      "Ends a connection that runs a statement, that a backup or restore has opened, or that is another login's.",
    risk: "medium",
    everyMinutes: 1,
  },
} as const satisfies Record<string, KnownFault>;

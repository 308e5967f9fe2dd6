// Known faults of rows: wrong counters, and rows that should have been deleted.
import type { KnownFault } from "./known-fault.ts";

export const faultsOfRows = {
  user_counts_differ: {
    at: ["users"],
    title: "Counters of users that differ from a count",
    problem:
      "The number of a tenant's users by role and state, which lists and health show, is not what counting gives.",
    remedy: "Corrects each counter by the difference, within one transaction.",
    never: "Changes a user. Changes that are made meanwhile stay counted.",
    risk: "low",
    everyMinutes: 5,
  },
  department_head_gone: {
    at: ["tenants"],
    title: "A department whose head doctor is deleted",
    problem: "A department names a head doctor who was deleted.",
    remedy: "Leaves the department without a head doctor, as the deletion should have done.",
    never: "Names another head doctor, or touches a department whose head doctor exists.",
    risk: "low",
    everyMinutes: 10,
  },
  expired_rows_pile_up: {
    at: ["auth", "messenger"],
    title: "Expired sessions, tokens and codes that pile up",
    problem: "Rows that expired days ago are still there: the hourly sweep does not run, or does not finish.",
    remedy: "Begins that sweep again.",
    never: "Deletes a row that is still valid: the sweep applies its usual rules.",
    risk: "low",
    everyMinutes: 30,
    settlesWithinS: 90,
  },
  purge_overdue: {
    at: ["patients", "tenants", "users"],
    title: "Deleted rows that should be gone for good",
    problem:
      "Tenants, users or patients that were deleted are still in the database two days after their retention.",
    remedy: "Begins the nightly purge now.",
    never: "Purges anything before its retention has passed.",
    risk: "medium",
    everyMinutes: 60,
    settlesWithinS: 90,
  },
  log_beyond_retention: {
    at: ["payments", "webhooks"],
    title: "Logs that are kept for too long",
    problem: "Deliveries or notifications are older than the 90 days for which they are kept.",
    remedy: "Begins the nightly sweep now.",
    never: "Deletes an entry of the audit log, or anything younger than 90 days.",
    risk: "low",
    everyMinutes: 60,
    settlesWithinS: 90,
  },
  cache_differs: {
    at: ["patients"],
    title: "A cache that disagrees with the database",
    problem:
      "Ten values of each node are compared with the database. One differs, although the patient's stamp says that nothing has changed.",
    remedy: "Evicts that patient on every node. The next read goes to the database.",
    never: "Changes a patient, or evicts a value that is merely outdated: it is never returned to a reader.",
    risk: "low",
    everyMinutes: 10,
  },
  audit_chain_broken: {
    at: ["audit"],
    title: "An audit log that is not intact",
    problem: "The proof of a tenant's log found an entry that was altered, removed, inserted or reordered.",
    remedy: null,
    never:
      "Writes, hashes or deletes an entry: the findings are evidence. Verify the log, and compare it with its checkpoints.",
    risk: "high",
    everyMinutes: 1,
  },
  audit_proof_overdue: {
    at: ["audit"],
    title: "An audit log that is no longer verified",
    problem:
      "A tenant's log was not recomputed from its first entry for more than two days; it should be daily.",
    remedy: "Begins the job that signs and proves.",
    never: "Changes the log, or reports it as intact.",
    risk: "low",
    everyMinutes: 30,
    settlesWithinS: 90,
  },
  sealed_unreadable: {
    at: ["crypto"],
    title: "Sealed fields that do not open",
    problem:
      "A rotation met fields of patients, records or webhooks that cannot be opened: their key is gone, or their bytes were changed.",
    remedy: null,
    never: "Changes or deletes such a field: a key that is put back from a backup opens it again.",
    risk: "high",
    everyMinutes: 10,
  },
  rotation_stalled: {
    at: ["crypto"],
    title: "A key rotation that makes no progress",
    problem:
      "A rotation is running, but it has made no progress for five minutes, or it has taken more than two days.",
    remedy: null,
    never: "Ends a rotation or destroys a key. Reads and writes continue.",
    risk: "medium",
    everyMinutes: 1,
  },
} as const satisfies Record<string, KnownFault>;

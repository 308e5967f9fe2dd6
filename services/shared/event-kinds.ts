// The kinds of events a change may leave in the outbox, as subscribers name them. Some are told by parts of the service
// that are not built yet: subscribing to them is fine, they just do not happen.

export const eventKinds = [
  "user.created",
  "user.updated",
  "user.blocked",
  "user.unblocked",
  "user.role_changed",
  "user.deleted",
  "tenant.updated",
  "department.created",
  "department.updated",
  "department.deleted",
  "patient.created",
  "patient.updated",
  "patient.deleted",
  "record.created",
  "backup.succeeded",
  "backup.failed",
  "restore.succeeded",
  "restore.failed",
  "encryption.rotated",
  "payment.succeeded",
  "payment.failed",
  "payment.refunded",
  "webhook.disabled",
  "fix.applied",
  "fix.failed",
  "incident.opened",
] as const;

/** `*` stands for all of them, also those to come. */
export const allEventKinds = [...eventKinds, "*"] as const;

export type EventKind = (typeof eventKinds)[number];

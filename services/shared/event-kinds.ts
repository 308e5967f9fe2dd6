// The kinds of events that a change may publish, by the names that subscribers use.

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

/** `*` stands for all kinds, also for future ones. */
export const allEventKinds = [...eventKinds, "*"] as const;

export type EventKind = (typeof eventKinds)[number];

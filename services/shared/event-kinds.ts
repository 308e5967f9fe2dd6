// The kinds of events a change may leave in the outbox, as subscribers name them.

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
  "encryption.rotated",
  "payment.succeeded",
  "payment.failed",
  "payment.refunded",
] as const;

export type EventKind = (typeof eventKinds)[number];

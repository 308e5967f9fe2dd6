// The text that a chat receives for an event: a sentence for its kind, the ids and facts listed here, and the
// time. No other part of a payload is ever sent, so no text about a patient can be sent, whatever is added to
// an event.
import type { EventKind } from "../shared/event-kinds.ts";

const sentences: Record<EventKind, string> = {
  "user.created": "A user was created",
  "user.updated": "A user was changed",
  "user.blocked": "A user was blocked",
  "user.unblocked": "A user was unblocked",
  "user.role_changed": "A user's role was changed",
  "user.deleted": "A user was deleted",
  "tenant.updated": "The tenant was changed",
  "department.created": "A department was created",
  "department.updated": "A department was changed",
  "department.deleted": "A department was deleted",
  "patient.created": "A patient was created",
  "patient.updated": "A patient was changed",
  "patient.deleted": "A patient was deleted",
  "record.created": "A record was added",
  "backup.succeeded": "A backup succeeded",
  "backup.failed": "A backup failed",
  "restore.succeeded": "A restore succeeded",
  "restore.failed": "A restore failed",
  "encryption.rotated": "The encryption key was rotated",
  "payment.succeeded": "A payment succeeded",
  "payment.failed": "A payment failed",
  "payment.refunded": "A payment was refunded",
  "webhook.disabled": "A webhook was disabled",
  "fix.applied": "A fix was applied",
  "fix.failed": "A fix failed",
  "incident.opened": "Something is wrong",
};

/** The facts by their names in the payload. They must be ids, numbers or words of fixed sets. */
const factsOf: Record<string, readonly string[]> = {
  user: ["user_id", "role", "from", "to"],
  tenant: ["tenant_id"],
  department: ["department_id"],
  patient: ["patient_id", "version"],
  record: ["record_id", "patient_id"],
  backup: ["backup_id", "job_id", "type"],
  restore: ["backup_id", "job_id", "type"],
  encryption: ["key_version"],
  payment: ["payment_id", "provider"],
  webhook: ["webhook_id", "reason"],
  fix: ["fix_id", "incident_id", "code"],
  incident: ["incident_id", "fix_id", "code"],
};
const plain = /^[\w.:-]{1,64}$/;

function isKind(kind: string): kind is EventKind {
  return Object.hasOwn(sentences, kind);
}

/** @param payload JSON @param occurredAt ISO 8601 @returns plain text of a few lines */
export function messageOf(kind: string, payload: string, occurredAt: string): string {
  const facts: unknown = JSON.parse(payload);
  const values = typeof facts === "object" && facts !== null ? (facts as Record<string, unknown>) : {};
  const lines = (factsOf[kind.split(".", 1)[0] ?? ""] ?? []).flatMap((name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    const isAllowed = typeof value === "number" || (typeof value === "string" && plain.test(value));
    return isAllowed ? [`${name}: ${value}`] : [];
  });
  const sentence = isKind(kind) ? sentences[kind] : "Something happened";
  return [`${sentence} (${kind})`, ...lines, `${occurredAt.slice(0, 19).replace("T", " ")} UTC`].join("\n");
}

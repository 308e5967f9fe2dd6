// The payload of each kind of event, as subscribers receive it: ids and facts, never a patient's text. A change can publish an
// event only with the payload of its kind, so the description in the interface always matches what is sent.
import type { EventKind } from "./event-kinds.ts";
import { nullable, optional } from "./params/modifiers.ts";
import { object, timestamp } from "./params/results.ts";
import { flag, integer, listOf, oneOf, text } from "./params/rules.ts";
import { schemaName } from "./params/schema-name.ts";
import type { AnyRule, ObjectShape, RuleShape, ValueOf } from "./params/types.ts";
import { roles } from "./roles.ts";

const user = integer({ description: "The user's id." });
const tenant = integer({ description: "The tenant's id." });
const department = integer({ description: "The department's id." });
const patient = integer({ description: "The patient's id." });
const fields = listOf(text(), { description: "The names of the fields that were changed." });
const restored = optional(flag({ description: "It was deleted, and an operator brought it back." }));
const role = oneOf(roles, { name: "Role" });

const job = {
  job_id: text({ description: "The job of `GET /api/admin/backup/status/{job_id}`." }),
  backup_id: text(),
  type: oneOf(["full", "tenant"], { name: "BackupType" }),
};
const failed = { error: text({ description: "A code for programs." }) };

const payment = object({
  provider: text(),
  payment_id: text({ description: "The provider's own name of the payment." }),
  from: nullable(text({ description: "The previous status; null at the first notification." })),
  status: text(),
  amount: text({ description: "As the provider writes it." }),
  currency: text(),
  occurred_at: timestamp(),
  notification_id: text(),
});
const fault = {
  fix_id: integer(),
  incident_id: integer(),
  code: text({ description: "The fault, as the catalogue names it." }),
  tenant_id: nullable(integer({ description: "The tenant that it concerns; null for the platform." })),
};
const fix = object({ ...fault, target: text() });

interface EventDescription {
  description: string;
  data: AnyRule;
}

export const eventDescriptions = {
  "user.created": {
    description: "A user was created, or has registered.",
    data: object({ user_id: user, role }),
  },
  "user.updated": {
    description: "A user's address was verified, their password was reset, or they were brought back.",
    data: object({ user_id: user, fields: optional(fields), restored }),
  },
  "user.blocked": { description: "A user was blocked.", data: object({ user_id: user }) },
  "user.unblocked": { description: "A user was unblocked or approved.", data: object({ user_id: user }) },
  "user.role_changed": {
    description: "A user has another role.",
    data: object({ user_id: user, from: role, to: role }),
  },
  "user.deleted": { description: "A user was deleted.", data: object({ user_id: user }) },
  "tenant.updated": {
    description: "The tenant was changed, or brought back.",
    data: object({ tenant_id: tenant, fields: optional(fields), restored }),
  },
  "department.created": {
    description: "A department was created.",
    data: object({ department_id: department }),
  },
  "department.updated": {
    description: "A department was renamed, or has another head doctor.",
    data: object({ department_id: department, fields }),
  },
  "department.deleted": {
    description: "A department was deleted.",
    data: object({ department_id: department }),
  },
  "patient.created": {
    description: "A patient was created.",
    data: object({ patient_id: patient, department_id: nullable(integer()) }),
  },
  "patient.updated": {
    description: "A patient was changed, or brought back.",
    data: object({ patient_id: patient, fields: optional(fields), version: integer(), restored }),
  },
  "patient.deleted": { description: "A patient was deleted.", data: object({ patient_id: patient }) },
  "record.created": {
    description: "Something was written about a patient.",
    data: object({ record_id: integer(), patient_id: patient }),
  },
  "backup.succeeded": {
    description: "A backup is complete and was read back.",
    data: object({ ...job, rows: integer(), size_bytes: integer() }),
  },
  "backup.failed": { description: "A backup could not be made.", data: object({ ...job, ...failed }) },
  "restore.succeeded": {
    description: "A restore is done.",
    data: object({
      ...job,
      taken_at: text({ description: "The moment that the archive shows." }),
      added: integer(),
      changed: integer(),
      removed: integer(),
      safety_backup_id: nullable(text()),
    }),
  },
  "restore.failed": {
    description: "A restore could not be done; nothing was changed.",
    data: object({ ...job, ...failed }),
  },
  "encryption.rotated": {
    description: "Everything is sealed by the new key.",
    data: object({ key_version: integer(), previous_version: integer(), rows_done: integer() }),
  },
  "payment.succeeded": { description: "A payment has succeeded.", data: payment },
  "payment.failed": { description: "A payment has failed.", data: payment },
  "payment.refunded": { description: "A payment was refunded.", data: payment },
  "webhook.disabled": {
    description: "A webhook was switched off: its address is gone (410), or has failed for five days.",
    data: object({ webhook_id: integer(), reason: oneOf(["gone", "failing"]) }),
  },
  "incident.opened": { description: "A fault was found.", data: object(fault) },
  "fix.applied": { description: "A remedy was applied.", data: fix },
  "fix.failed": { description: "A remedy could not be applied.", data: fix },
} as const satisfies Readonly<Record<EventKind, EventDescription>>;

/** The payload of a kind under a name of its own. The order of its fields is not fixed, because it is sent as it was stored. */
export function namedPayload(kind: EventKind): ObjectShape {
  const data: RuleShape = eventDescriptions[kind].data;
  if (data.type !== "object") throw new Error(`the payload of ${kind} is no object`);
  return { ...data, name: `${schemaName(kind)}Data`, anyOrder: true };
}

export type PayloadOf<K extends EventKind> = ValueOf<(typeof eventDescriptions)[K]["data"]>;

// Actions for reading and verifying the audit log. Writing needs no action: every change writes its own
// entries in its transaction.
import { allow, onlyServices } from "../shared/access.ts";
import { auditChangesShape } from "../shared/audit-changes.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { custom, nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { dateOrTime, flag, id, integer, listOf, oneOf, text } from "../shared/params/rules.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { ofTenant, pageOf, paging, sorting } from "../shared/wire.ts";
import { actionFilterFault } from "./action-filter.rules.ts";
import { faults } from "./faults.rules.ts";

const auditSorts = ["created_at", "id", "seq", "action", "user_id"] as const;

const auditEntryShape = object(
  {
    id: integer(),
    seq: integer(),
    tenant_id: integer(),
    user_id: nullable(integer()),
    action: text(),
    target_type: nullable(text()),
    target_id: nullable(text()),
    outcome: oneOf(["ok", "denied", "error"]),
    changes: auditChangesShape,
    ip: nullable(text()),
    user_agent: nullable(text()),
    request_id: nullable(text()),
    created_at: timestamp(),
    prev_hash: text(),
    hash: text(),
  },
  { name: "AuditEntry" },
);
export type AuditEntry = ValueOf<typeof auditEntryShape>;

const badShape = object(
  {
    seq: integer(),
    to_seq: integer({ description: "The same as `seq`, but for a run of entries" }),
    reason: oneOf(faults),
  },
  { name: "AuditFault" },
);

const excerptShape = object(
  {
    at: timestamp(),
    excerpt_of: text({ description: "Hash of the whole document, which has the heads of other tenants too" }),
    heads: listOf(
      object({
        hash: text(),
        seq: integer({ description: "Number of the entry that has this hash" }),
        tenant_id: integer(),
        verified: flag({ description: "Whether what came since the checkpoint before continued it" }),
      }),
    ),
    installation: text(),
    key_id: text(),
    number: integer(),
    signature: text({ description: "Ed25519, base64, over the RFC 8785 JSON of all other fields" }),
    v: integer(),
  },
  { name: "AuditCheckpoint" },
);
export type SignedExcerpt = ValueOf<typeof excerptShape>;

const checkpointPageShape = object(
  {
    items: listOf(excerptShape),
    next_before: nullable(integer()),
    keys: listOf(object({ key_id: text(), public_key: text({ description: "PEM" }) })),
  },
  { name: "AuditCheckpoints" },
);
export type CheckpointPage = ValueOf<typeof checkpointPageShape>;

const actionFilter = text({
  max: 100,
  trim: true,
  description: "One action, or all of a resource.",
  example: "user.*",
  schema: { pattern: "^[a-z_]+\\.(?:[a-z_]+|\\*)$" },
});

export const auditContract = {
  "audit.list": {
    summary:
      "Lists audit entries, newest first; `action` is exact or `user.*`, a bare `to_date` includes its day.",
    audits: "audit.list",
    access: allow("superadmin", "admin"),
    repeatable: true,
    weight: weights.list,
    query: {
      ...ofTenant,
      action: optional(nullable(custom(actionFilter, actionFilterFault))),
      user_id: optional(nullable(id({ description: "Only what this user did." }))),
      from_date: optional(
        nullable(dateOrTime({ description: "From this moment, or the beginning of this day." })),
      ),
      to_date: optional(nullable(dateOrTime({ description: "Up to this moment, or the end of this day." }))),
      ...paging,
      ...sorting(auditSorts, "created_at", "desc"),
    },
    result: pageOf("AuditPage", auditEntryShape),
  },
  "audit.verify": {
    summary:
      "Recomputes the hash chain of a tenant from its first entry to its head, goes on behind what is wrong, and compares it with the signed checkpoints.",
    audits: "audit.verify",
    access: allow("superadmin", "admin"),
    repeatable: true,
    refuses: { 503: ["verification_unfinished"] },
    weight: weights.heavy,
    query: { ...ofTenant },
    result: object(
      {
        ok: flag(),
        checked: integer({ description: "Entries that were recomputed" }),
        first_bad_seq: nullable(integer()),
        bad: listOf(badShape, { description: "What is wrong, at most the first 100" }),
        bad_total: integer({ description: "How many there are; a run of missing entries is one" }),
        checkpoints: integer({ description: "Signed checkpoints that were compared" }),
        checkpoint_seq: nullable(integer({ description: "The entry of the newest of them" })),
      },
      { name: "AuditVerification" },
    ),
  },
  "audit.export": {
    summary:
      "Whole entries as they were hashed, oldest first, to be proved outside: docs/check-audit.mjs does it. Goes on by `after_seq`.",
    audits: "audit.export",
    access: allow("superadmin", "admin"),
    repeatable: true,
    weight: weights.export,
    query: {
      ...ofTenant,
      after_seq: integer({ min: 0, default: 0, description: "The last number of the page before" }),
      limit: integer({ min: 1, max: 1_000, default: 1_000, description: "How many entries." }),
    },
    result: object(
      {
        entries: listOf(auditEntryShape),
        next_after_seq: nullable(integer({ description: "Null: there are no more" })),
      },
      { name: "AuditExport" },
    ),
  },
  "audit.checkpoints": {
    summary:
      "The signed checkpoints of a tenant's log of the last 30 days, newest first, and the public keys that they are signed with.",
    audits: "audit.checkpoints",
    access: allow("superadmin", "admin"),
    repeatable: true,
    weight: weights.list,
    query: {
      ...ofTenant,
      before: optional(nullable(integer({ min: 1, description: "The `next_before` of the page before" }))),
      limit: integer({ min: 1, max: 100, default: 20, description: "How many checkpoints." }),
    },
    result: checkpointPageShape,
  },
  "audit.record_refusal": {
    summary: "Records a call that was refused.",
    audits: "audit.record_refusal",
    access: onlyServices("api-gateway"),
    body: { action: text({ max: 100 }), code: text({ max: 100 }), target_id: optional(text({ max: 100 })) },
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof auditContract> {}
}

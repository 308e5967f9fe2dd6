// Actions of the crypto service: keys for the services that seal, rotation for superadmins.
import { allow, onlyServices } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { id, integer, listOf, oneOf, pathId, secretText, text } from "../shared/params/rules.ts";

const count = integer();
const progress = {
  job_id: text(),
  key_version: count,
  previous_version: count,
  status: oneOf(["running", "finished"]),
  rewrapped: count,
  rows_total: count,
  rows_done: count,
};

export const cryptoContract = {
  "crypto.rotate": {
    summary:
      "Starts to use a new master key: effective at once, everything sealed is sealed anew in the background.",
    audits: "encryption.rotate",
    access: allow("superadmin"),
    refuses: { 409: ["rotation_running"], 503: ["keys_unreadable"] },
    weight: weights.heavy,
    // A pattern that is refused as not random. A real key as example would be used by somebody.
    example: { new_key: "base64 of 32 random bytes: openssl rand -base64 32" },
    body: {
      new_key: secretText({
        min: 1,
        max: 200,
        description: "32 random bytes as base64, base64url or hex: `openssl rand -base64 32`",
        schema: { pattern: "^(?:[0-9A-Fa-f]{64}|[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$" },
      }),
    },
    result: object(progress, { name: "RotationStarted" }),
  },
  "crypto.status": {
    summary: "How far the last rotation is, which keys there are, and what does not open.",
    audits: "encryption.status",
    access: allow("superadmin"),
    repeatable: true,
    result: object(
      {
        key_version: count,
        rotation: nullable(
          object(
            {
              ...progress,
              rows_per_second: count,
              eta_seconds: nullable(count),
              tenants_total: count,
              tenants_done: count,
              started_at: timestamp(),
              finished_at: nullable(timestamp()),
            },
            { name: "Rotation" },
          ),
        ),
        keys: object({ primary: count, decrypt_only: count, destroyed: count }),
        quarantined: object({
          count,
          first: listOf(
            object({
              tenant_id: count,
              table: text(),
              row_id: count,
              column: text(),
              key_id: nullable(count),
              reason: oneOf(["format", "key", "authentication"]),
            }),
          ),
        }),
      },
      { name: "EncryptionStatus" },
    ),
  },
  "crypto.destroy_key": {
    summary: "Destroys a data key that nothing needs (operators, from the REPL).",
    audits: "encryption.destroy_key",
    access: allow("superadmin"),
    refuses: { 409: ["rotation_running", "key_in_use", "key_needed"] },
    path: { key_id: pathId({ description: "The key's id.", example: 1 }) },
  },
  "crypto.keys": {
    summary: "A tenant's usable keys, unwrapped; made when there are none, or when one is worn.",
    audits: "encryption.keys",
    access: onlyServices("patients", "webhooks"),
    repeatable: true,
    body: { tenant_id: id(), worn_key_id: optional(nullable(id())) },
    result: object({
      keys: listOf(
        object({
          id: integer(),
          purpose: oneOf(["field", "index"]),
          state: oneOf(["primary", "decrypt_only"]),
          key: text(),
        }),
      ),
    }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof cryptoContract> {}
}

// The administrators' health report.
import { allow } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { logLevels } from "../shared/log-levels.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { flag, integer, listOf, oneOf, text } from "../shared/params/rules.ts";

const state = oneOf(["ok", "down"]);

export const healthContract = {
  "health.report": {
    summary: "How the service is, with counts of the caller's tenant (of all tenants for a superadmin).",
    audits: "health.report",
    access: allow("superadmin", "admin"),
    repeatable: true,
    weight: weights.survey,
    result: object(
      {
        status: oneOf(["ok", "degraded", "down"]),
        tenant_mode: flag(),
        encryption_enabled: flag(),
        tenants_count: integer(),
        users_count: integer(),
        departments_count: integer(),
        patients_count: integer(),
        webhooks_count: integer(),
        pending_deliveries: integer(),
        failed_deliveries: integer({ description: "Of the last 90 days" }),
        backups_count: integer(),
        last_backup_at: nullable(timestamp()),
        last_verified_restore_at: nullable(
          timestamp({ description: "When a backup was last restored into a scratch schema and compared" }),
        ),
        open_incidents: integer({
          description:
            "Faults that are not mended, and limits of the day that were reached today or yesterday",
        }),
        key_version: nullable(integer()),
        rotation: nullable(
          object({
            status: oneOf(["running", "finished"]),
            rows_total: integer(),
            rows_done: integer(),
          }),
        ),
        audit_ok: nullable(
          flag({ description: "Whether the last proofs found the audit log whole; null before the first" }),
        ),
        audit_proved_at: nullable(
          timestamp({ description: "Since when every log was proved from its first entry on" }),
        ),
        audit_checkpoint_at: nullable(timestamp({ description: "When the log was last signed" })),
        version: text(),
        uptime_s: integer(),
        checks: object({
          postgres: state,
          bus: state,
          object_store: state,
          mail: state,
          messenger: oneOf(["ok", "off", "down"]),
        }),
      },
      { name: "HealthReport" },
    ),
  },
  "health.log_levels": {
    summary:
      "How much the processes tell in their logs; changed first where a level is given (operators, at the REPL).",
    audits: "log.set_level",
    access: allow("superadmin"),
    body: {
      level: optional(oneOf([...logLevels], { description: "From now on, until the process ends" })),
      module: optional(text({ max: 40, description: "Of this module alone" })),
      node: optional(text({ max: 100, description: "Of this process alone" })),
    },
    result: object({
      items: listOf(object({ node: text(), levels: text() })),
      unanswered: listOf(text()),
    }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof healthContract> {}
}

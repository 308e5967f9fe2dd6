// Self-healing: the interface's five operations, and two additional ones for incidents and for starting a
// detection run.
import { allow } from "../shared/access.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { catalogue } from "../../mixins/healing/catalogue.ts";
import { weights } from "../shared/limits/weights.ts";
import { nullable, optional } from "../shared/params/modifiers.ts";
import { decimal, json, object, timestamp } from "../shared/params/results.ts";
import { flag, id, integer, listOf, oneOf, pathId, text } from "../shared/params/rules.ts";
import { pageOf, paging, sorting } from "../shared/wire.ts";
import { incidentStatuses } from "./incident.rules.ts";

const operators = allow("superadmin");
const risks = ["low", "medium", "high"] as const;
const fixStatuses = ["proposed", "confirmed", "suspended"] as const;
const [firstCode, ...otherCodes] = catalogue.map(({ code }) => code);
/** The catalogue is never empty, as its detectors would not compile. */
const codes = [firstCode ?? "none", ...otherCodes] as const;

const incidentSorts = ["id", "detected_at", "last_seen_at"] as const;

export const fixShape = object(
  {
    id: integer(),
    code: text(),
    title: text(),
    problem: text(),
    remedy: nullable(text({ description: "Null: a person has to act, and is told" })),
    risk: oneOf(risks),
    status: oneOf(fixStatuses),
    occurrences: integer({ description: "How often the fault was met" }),
    healed: integer(),
    failed: integer(),
    open_incidents: integer(),
    last_detected_at: nullable(timestamp()),
    last_healed_at: nullable(timestamp()),
    confirmed_by: nullable(integer()),
    confirmed_at: nullable(timestamp()),
    created_at: timestamp(),
    suspended_reason: nullable(
      oneOf(["failures", "mass"], {
        description:
          "Over half of its last ten tries failed, or over 40 % of all targets were at fault at once",
      }),
    ),
  },
  { name: "Fix" },
);

export const incidentShape = object(
  {
    id: integer(),
    fix_id: integer(),
    code: text(),
    title: text(),
    tenant_id: nullable(integer()),
    service: text({ description: "Whose detector found it" }),
    target: text(),
    status: oneOf(incidentStatuses),
    evidence: json({ description: "Facts and numbers, as they were when it was last seen" }),
    would_do: nullable(text({ description: "The dry run: what the remedy would do" })),
    tries: integer(),
    next_try_at: nullable(timestamp()),
    detected_at: timestamp(),
    last_seen_at: timestamp(),
    ended_at: nullable(timestamp()),
    repair_s: nullable(decimal({ description: "From its detection to the end of what healed it" })),
    history: listOf(
      object({
        at: timestamp(),
        step: oneOf([
          "detected",
          "trying",
          "healed",
          "try_failed",
          "failed",
          "reopened",
          "ended",
          "dismissed",
        ]),
        facts: json(),
      }),
    ),
  },
  { name: "Incident" },
);

export const selfHealingContract = {
  "self-healing.fixes": {
    summary: "The fixes that were met or seeded, with how often each was needed and whether it helped.",
    audits: "fix.list",
    access: operators,
    repeatable: true,
    weight: weights.list,
    result: object({ items: listOf(fixShape), total: integer() }, { name: "Fixes" }),
  },
  "self-healing.confirm": {
    summary: "Lets a fix be applied by itself from now on, and heals its open incidents at once.",
    audits: "fix.confirm",
    access: operators,
    refuses: { 409: ["no_remedy"] },
    weight: weights.setting,
    path: { fix_id: pathId({ description: "The fix, by its `id` in the list" }) },
    result: fixShape,
  },
  "self-healing.remove": {
    summary: "Deletes a fix: its fault is not looked for any more until it is seeded again.",
    audits: "fix.delete",
    access: operators,
    weight: weights.setting,
    path: { fix_id: pathId({ description: "The fix, by its `id` in the list" }) },
  },
  "self-healing.seed": {
    summary:
      "Loads the built-in catalogue. Edited fixes stay as they are unless `overwrite` is true; then all are proposed anew.",
    audits: "fix.seed",
    access: operators,
    weight: weights.bulk,
    query: {
      overwrite: optional(
        nullable(
          flag({
            description: "Also what was edited or confirmed becomes as it is built in, and is proposed anew",
          }),
        ),
      ),
    },
    result: object(
      { created: integer(), updated: integer(), skipped: integer(), total: integer() },
      { name: "SeededFixes" },
    ),
  },
  "self-healing.stats": {
    summary: "How many fixes and incidents there are, and how well and fast healing works.",
    audits: "fix.stats",
    access: operators,
    repeatable: true,
    weight: weights.survey,
    result: object(
      {
        fixes: integer(),
        by_status: object({ proposed: integer(), confirmed: integer(), suspended: integer() }),
        incidents: integer({ description: "Those that ended are kept for 90 days" }),
        open: integer(),
        healed: integer(),
        failed: integer(),
        success_rate: nullable(
          decimal({ description: "Healed, of healed and failed; null before the first" }),
        ),
        mean_time_to_repair_s: nullable(decimal({ description: "From detection to healed" })),
        ended: integer({ description: "Went away by themselves" }),
        looked_at: nullable(timestamp({ description: "When faults were last looked for" })),
      },
      { name: "HealingStats" },
    ),
  },
  "self-healing.incidents": {
    summary: "Incidents with their evidence, what their remedy would do, and their history.",
    audits: "incident.list",
    access: operators,
    repeatable: true,
    weight: weights.list,
    query: {
      status: optional(nullable(oneOf(incidentStatuses, { description: "Only incidents in this state" }))),
      code: optional(nullable(oneOf(codes, { description: "Only incidents of this fault" }))),
      fix_id: optional(nullable(id({ description: "Only incidents of this fix" }))),
      ...paging,
      ...sorting(incidentSorts, "id", "desc"),
    },
    result: pageOf("IncidentPage", incidentShape),
  },
  "self-healing.look": {
    summary:
      "Looks for all faults now instead of when each is due, for a few seconds: it says what did not answer meanwhile. Nothing is mended that is not confirmed.",
    audits: "fix.look",
    access: operators,
    weight: weights.bulk,
    result: object(
      {
        looked: integer({ description: "Faults that were looked for" }),
        found: integer({ description: "Targets at fault" }),
        opened: integer({ description: "Of them, new incidents" }),
        silent: listOf(text(), { description: "Services that left something unanswered" }),
        unanswered: listOf(object({ code: text(), service: text({ description: "Whose detector it is" }) }), {
          description: "Detectors that did not end in time, or failed",
        }),
        left: listOf(text(), {
          description: "Faults that there was no time for: the next look begins with them",
        }),
      },
      { name: "FaultLook" },
    ),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof selfHealingContract> {}
}

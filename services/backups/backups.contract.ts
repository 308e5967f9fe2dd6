// Actions of the backups service: the interface's six operations, download links, and actions for operators
// and health.
import { allow, anyone, onlyServices } from "../shared/access.ts";
import { downloadShape } from "../shared/archive/download.ts";
import type { ActionsOf, Contract } from "../shared/bus/bus.ts";
import { weights } from "../shared/limits/weights.ts";
import { emptyIsNull, nullable, optional } from "../shared/params/modifiers.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { flag, id, integer, listOf, oneOf, text } from "../shared/params/rules.ts";
import { failureCodes, failureOf, jobStatuses } from "./job.rules.ts";

const administrators = allow("superadmin", "admin");
const types = ["full", "tenant"] as const;
const type = oneOf(types);
const givenType = optional(
  nullable(
    oneOf(types, {
      description: "`full` for superadmins alone; without it theirs is `full`, an administrator's `tenant`",
    }),
  ),
);
/** Any text is accepted; a malformed id is answered with 404. */
const givenId = text({ max: 64, description: "As `create`, `list` or `download-ticket` answered it." });

const downloading = ["download_unavailable"] as const;
const jobBegun = { job_id: text(), backup_id: text(), type, status: oneOf(jobStatuses) };

export const backupShape = object(
  {
    backup_id: text(),
    type,
    tenant_id: nullable(integer()),
    status: oneOf(["succeeded"]),
    size_bytes: integer({ description: "Of the file, as it is downloaded" }),
    rows: integer(),
    sha256: text({ description: "Of the file, as it is downloaded" }),
    key_version: integer(),
    created_at: timestamp(),
    created_by: nullable(integer()),
    verified_at: timestamp(),
    reason: oneOf(["manual", "nightly", "safety"]),
    schema_version: text(),
    tested_at: nullable(timestamp({ description: "When it was last restored into a scratch schema" })),
    test_passed: nullable(flag()),
  },
  { name: "Backup" },
);

export const jobShape = object(
  {
    job_id: text(),
    kind: oneOf(["backup", "restore", "test"]),
    type,
    backup_id: text(),
    status: oneOf(jobStatuses),
    step: text(),
    percent: integer(),
    rows_done: integer(),
    bytes_done: integer(),
    error: nullable(text()),
    created_at: timestamp(),
    started_at: nullable(timestamp()),
    finished_at: nullable(timestamp()),
    error_code: nullable(text()),
    safety_backup_id: nullable(
      text({ description: "What was kept of the present before a restore changed it" }),
    ),
  },
  { name: "BackupJob" },
);

const plan = object({
  tables: listOf(object({ table: text(), add: integer(), change: integer(), remove: integer() })),
});

export const backupsContract = {
  "backups.create": {
    summary: "Begins a backup: of everything, or of the caller's tenant.",
    audits: "backup.create",
    access: administrators,
    refuses: { 403: ["full_backup"], 409: ["backup_job_running", "too_many_backups"] },
    weight: weights.heavy,
    example: { type: "tenant" },
    body: { type: givenType },
    result: object(jobBegun, { name: "BackupBegun" }),
  },
  "backups.list": {
    summary: "The backups within the caller's reach, newest first.",
    audits: "backup.list",
    access: administrators,
    repeatable: true,
    weight: weights.list,
    result: object({ items: listOf(backupShape), total: integer() }, { name: "Backups" }),
  },
  "backups.download": {
    summary: "The backup as a `.tar.zst`; sealed fields stay sealed.",
    audits: "backup.download",
    access: administrators,
    refuses: { 409: ["backup_type_differs"], 503: downloading },
    weight: weights.outbound,
    path: { backup_id: givenId },
    query: {
      type: optional(emptyIsNull(oneOf(types, { description: "What the backup has to be (else 409)." }))),
    },
    result: downloadShape,
    download: true,
  },
  "backups.make_ticket": {
    summary: "A link that downloads the backup once, within a minute, without a token.",
    audits: "backup.make_ticket",
    access: administrators,
    weight: weights.outbound,
    path: { backup_id: givenId },
    result: object({ url: text(), expires_at: timestamp() }, { name: "DownloadTicket" }),
  },
  "backups.use_ticket": {
    summary: "What a link of `download-ticket` downloads, once.",
    audits: "backup.download",
    access: anyone,
    refuses: { 503: downloading },
    path: { ticket: givenId },
    result: downloadShape,
    download: true,
  },
  "backups.restore": {
    summary: "Says what a restore would change; with `confirm` it begins the restore.",
    audits: "backup.restore",
    access: administrators,
    refuses: {
      404: ["not_found"],
      409: [
        "full_restore_offline",
        "tenant_gone",
        "backup_in_use",
        "backup_type_differs",
        "backup_job_running",
        "too_many_backups",
        ...failureCodes.filter((code) => !failureOf(code).passing),
      ],
      503: ["plan_unfinished", ...failureCodes.filter((code) => failureOf(code).passing)],
    },
    weight: weights.heavy,
    example: { backup_id: "0192d3a0-0000-7000-8000-000000000000", confirm: false },
    body: {
      backup_id: givenId,
      type: optional(nullable(type)),
      confirm: optional(nullable(flag({ description: "Without it nothing is changed" }))),
    },
    result: object(
      {
        plan: optional(plan),
        applied: flag(),
        job_id: optional(text()),
        backup_id: optional(text()),
        type: optional(type),
        status: optional(oneOf(jobStatuses)),
      },
      { name: "Restore" },
    ),
  },
  "backups.status": {
    summary: "How far a job is.",
    audits: "backup.status",
    access: administrators,
    repeatable: true,
    path: { job_id: givenId },
    result: jobShape,
    duringRestore: true,
  },
  "backups.remove": {
    summary: "Deletes a backup that no job uses.",
    audits: "backup.delete",
    access: administrators,
    refuses: { 409: ["backup_in_use"] },
    path: { backup_id: givenId },
    result: object({ deleted: flag() }, { name: "BackupDeleted" }),
  },
  "backups.make": {
    summary:
      "Begins a backup of everything, or of any tenant (operators, from the REPL and the command line).",
    audits: "backup.create",
    access: allow("superadmin"),
    body: { type: givenType, tenant_id: optional(nullable(id())) },
    result: object(jobBegun),
  },
  "backups.check": {
    summary: "Whether the store of the backups can be written to and read.",
    audits: "backup.check",
    access: onlyServices("health"),
    result: object({ ok: flag() }),
  },
} as const satisfies Contract;

declare module "../shared/bus/bus.ts" {
  interface Actions extends ActionsOf<typeof backupsContract> {}
}

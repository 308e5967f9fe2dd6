// Append-only: a migration that has run anywhere is never edited, only followed by another. Each says beside which versions of
// the program it works; the migrator keeps that in the database, where an earlier version finds it (schema-age.ts).
import type { Migration } from "@mikro-orm/migrations";
import { Foundation } from "./0001-foundation.ts";
import { Patients } from "./0002-patients.ts";
import { Rotation } from "./0003-rotation.ts";
import { Cache } from "./0004-cache.ts";
import { Webhooks } from "./0005-webhooks.ts";
import { Payments } from "./0006-payments.ts";
import { Search } from "./0007-search.ts";
import { Messenger } from "./0008-messenger.ts";
import { Identity } from "./0009-identity.ts";
import { AuditBatches } from "./0010-audit-batches.ts";
import { Definers } from "./0011-definers.ts";
import { Walk } from "./0012-walk.ts";
import { Origins } from "./0013-origins.ts";
import { Limits } from "./0014-limits.ts";
import { Checkpoints } from "./0015-checkpoints.ts";
import { Logins } from "./0016-logins.ts";
import { Backups } from "./0017-backups.ts";
import { Hardening } from "./0018-hardening.ts";
import { SelfHealing } from "./0021-self-healing.ts";
import { Healing } from "./0022-healing.ts";
import { ScheduleOccurrences } from "./0023-schedule-occurrences.ts";
import { BulkWrites } from "./0024-bulk-writes.ts";
import { Traces } from "./0027-traces.ts";
import { Compatibility } from "./0028-compatibility.ts";

export interface ListedMigration {
  name: string;
  class: new (...given: ConstructorParameters<typeof Migration>) => Migration;
  /** The release that brings it. */
  since: string;
  /** The oldest version of the program that works beside it: an earlier release than `since`, so that nothing has to stop. */
  oldest: string;
  /** Where its statements look as if they took something away from earlier versions: why they do not. */
  harmless?: string;
}

/** Before the first release there is none that could run beside. */
const first = { since: "0.1.0", oldest: "0.1.0" };

export const migrations: readonly ListedMigration[] = [
  { name: "0001-foundation", class: Foundation, ...first },
  { name: "0002-patients", class: Patients, ...first },
  { name: "0003-rotation", class: Rotation, ...first },
  { name: "0004-cache", class: Cache, ...first },
  { name: "0005-webhooks", class: Webhooks, ...first },
  { name: "0006-payments", class: Payments, ...first },
  { name: "0007-search", class: Search, ...first },
  { name: "0008-messenger", class: Messenger, ...first },
  { name: "0009-identity", class: Identity, ...first },
  { name: "0010-audit-batches", class: AuditBatches, ...first },
  { name: "0011-definers", class: Definers, ...first },
  { name: "0012-walk", class: Walk, ...first },
  { name: "0013-origins", class: Origins, ...first },
  { name: "0014-limits", class: Limits, ...first },
  { name: "0015-checkpoints", class: Checkpoints, ...first },
  { name: "0016-logins", class: Logins, ...first },
  { name: "0017-backups", class: Backups, ...first },
  { name: "0018-hardening", class: Hardening, ...first },
  { name: "0021-self-healing", class: SelfHealing, ...first },
  { name: "0022-healing", class: Healing, ...first },
  { name: "0023-schedule-occurrences", class: ScheduleOccurrences, ...first },
  { name: "0024-bulk-writes", class: BulkWrites, ...first },
  { name: "0027-traces", class: Traces, ...first },
  { name: "0028-compatibility", class: Compatibility, ...first },
];

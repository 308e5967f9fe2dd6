// Append-only: a migration that has run anywhere is never edited, only followed by another.
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
import { BulkWrites } from "./0024-bulk-writes.ts";
import { Traces } from "./0027-traces.ts";

export const migrations = [
  { name: "0001-foundation", class: Foundation },
  { name: "0002-patients", class: Patients },
  { name: "0003-rotation", class: Rotation },
  { name: "0004-cache", class: Cache },
  { name: "0005-webhooks", class: Webhooks },
  { name: "0006-payments", class: Payments },
  { name: "0007-search", class: Search },
  { name: "0008-messenger", class: Messenger },
  { name: "0009-identity", class: Identity },
  { name: "0010-audit-batches", class: AuditBatches },
  { name: "0011-definers", class: Definers },
  { name: "0012-walk", class: Walk },
  { name: "0013-origins", class: Origins },
  { name: "0014-limits", class: Limits },
  { name: "0015-checkpoints", class: Checkpoints },
  { name: "0016-logins", class: Logins },
  { name: "0017-backups", class: Backups },
  { name: "0018-hardening", class: Hardening },
  { name: "0021-self-healing", class: SelfHealing },
  { name: "0024-bulk-writes", class: BulkWrites },
  { name: "0027-traces", class: Traces },
];

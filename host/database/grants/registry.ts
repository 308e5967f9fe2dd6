// The rights of each service, by the name of its folder; and the objects that no login may use.
import { audit } from "./audit.ts";
import { auth } from "./auth.ts";
import { backups } from "./backups.ts";
import { cache } from "./cache.ts";
import { crypto } from "./crypto.ts";
import { health } from "./health.ts";
import { mail } from "./mail.ts";
import { messenger } from "./messenger.ts";
import { patients } from "./patients.ts";
import { payments } from "./payments.ts";
import type { ServiceRights } from "./rights.ts";
import { selfHealing } from "./self-healing.ts";
import { tenants } from "./tenants.ts";
import { usersRights } from "./users.ts";
import { webhooks } from "./webhooks.ts";

export const rightsByService: Readonly<Record<string, ServiceRights>> = {
  audit,
  auth,
  backups,
  cache,
  crypto,
  health,
  mail,
  messenger,
  patients,
  payments,
  "self-healing": selfHealing,
  tenants,
  users: usersRights,
  webhooks,
};

/** Objects that no login may use, with the reason: only functions of the database use them. */
export const internalObjects: Readonly<Record<string, string>> = {
  audit_chain: "a trigger of the log",
  queue_events: "a trigger of the events",
  follow_messenger_user: "a trigger of the users",
  follow_messenger_tenant: "a trigger of the tenants",
  trace_user: "a trigger of the users",
  trace_tenant: "a trigger of the tenants",
  leave_trace: "used by the two triggers above",
  is_on_record: "used by the same triggers",
  schedule_occurrences: "used by the function that adds scheduled jobs",
};

/** The most sensitive privileges. The guard refuses a login that has one although no service of the process needs it. */
export const sensitivePrivileges: readonly {
  object: string;
  column?: string;
  privilege: string;
  services: readonly string[];
}[] = [
  { object: "master_keys", column: "wrapped", privilege: "select", services: ["backups", "crypto"] },
  { object: "data_keys", column: "wrapped", privilege: "select", services: ["backups", "crypto"] },
  { object: "users", column: "password_hash", privilege: "select", services: ["auth", "backups"] },
  { object: "users", column: "password_hash", privilege: "update", services: ["backups", "users"] },
  { object: "mail_tokens", privilege: "insert", services: ["users"] },
];

// The REST interface as one table: path → action, success status, documentation group. Access, parameters and result
// stand in the action's contract, and a contract without access does not compile, so neither does a route without it.
import type { ActionContract } from "../shared/bus/bus.ts";
import { auditContract } from "../audit/audit.contract.ts";
import { authContract } from "../auth/auth.contract.ts";
import { backupsContract } from "../backups/backups.contract.ts";
import { keepCheckpointContract } from "../backups/keep-checkpoint.contract.ts";
import { cacheContract } from "../cache/cache.contract.ts";
import { archiveKeysContract } from "../crypto/archive-keys.contract.ts";
import { cryptoContract } from "../crypto/crypto.contract.ts";
import { healthContract } from "../health/health.contract.ts";
import { nodeContract } from "../node/node.contract.ts";
import { mailContract } from "../mail/mail.contract.ts";
import { messengerContract } from "../messenger/messenger.contract.ts";
import { patientsContract } from "../patients/patients.contract.ts";
import { paymentsContract } from "../payments/payments.contract.ts";
import { selfHealingContract } from "../self-healing/self-healing.contract.ts";
import { departmentsContract } from "../tenants/departments.contract.ts";
import { tenantsContract } from "../tenants/tenants.contract.ts";
import { accountsContract } from "../users/accounts.contract.ts";
import { preferencesContract } from "../users/preferences.contract.ts";
import { usersContract } from "../users/users.contract.ts";
import { checkpointsContract } from "../webhooks/checkpoints.contract.ts";
import { deliveriesContract } from "../webhooks/deliveries.contract.ts";
import { webhooksContract } from "../webhooks/webhooks.contract.ts";

export const contracts = {
  ...auditContract,
  ...authContract,
  ...backupsContract,
  ...cacheContract,
  ...cryptoContract,
  ...archiveKeysContract,
  ...healthContract,
  ...nodeContract,
  ...mailContract,
  ...messengerContract,
  ...patientsContract,
  ...paymentsContract,
  ...selfHealingContract,
  ...departmentsContract,
  ...tenantsContract,
  ...accountsContract,
  ...preferencesContract,
  ...usersContract,
  ...webhooksContract,
  ...deliveriesContract,
  ...checkpointsContract,
  ...keepCheckpointContract,
} as const;

export type ActionName = keyof typeof contracts;
export type Method = "GET" | "POST" | "PUT" | "DELETE";

export interface Route {
  method: Method;
  /** As the interface writes it, `{tenant_id}` for a parameter. */
  path: string;
  action: ActionName;
  status: 200 | 201 | 202 | 204;
  group: string;
}

type Row = readonly [method: Method, path: string, action: ActionName, status: Route["status"]];

// Hot routes first: aliases are looked up in order.
const groups: Record<string, readonly Row[]> = {
  "Current user": [
    ["GET", "/api/users/me", "users.me", 200],
    ["GET", "/api/auth/me", "users.me", 200],
    ["GET", "/api/preferences", "preferences.get", 200],
    ["PUT", "/api/preferences", "preferences.update", 200],
    ["PUT", "/api/preferences/theme", "preferences.set_theme", 200],
    ["POST", "/api/auth/logout", "auth.logout", 204],
  ],
  Patients: [
    ["GET", "/api/patients/{patient_id}", "patients.get", 200],
    ["GET", "/api/patients", "patients.list", 200],
    ["POST", "/api/patients", "patients.create", 201],
    ["PUT", "/api/patients/{patient_id}", "patients.update", 200],
    ["DELETE", "/api/patients/{patient_id}", "patients.remove", 204],
    ["GET", "/api/patients/{patient_id}/records", "patients.list_records", 200],
    ["POST", "/api/patients/{patient_id}/records", "patients.create_record", 201],
  ],
  Users: [
    ["GET", "/api/admin/users", "users.list", 200],
    ["POST", "/api/admin/users", "users.create", 201],
    ["DELETE", "/api/admin/users/{user_id}", "users.remove", 204],
    ["POST", "/api/admin/users/{user_id}/block", "users.block", 200],
    ["POST", "/api/admin/users/{user_id}/unblock", "users.unblock", 200],
    ["PUT", "/api/admin/users/{user_id}/role", "users.set_role", 200],
  ],
  Authentication: [
    ["POST", "/api/auth/login", "auth.login", 200],
    ["GET", "/api/auth/tenants", "tenants.list_public", 200],
    ["GET", "/api/auth/departments", "departments.list_public", 200],
    ["POST", "/api/auth/register", "accounts.register", 201],
    ["POST", "/api/auth/verify-email", "accounts.verify_email", 200],
    ["POST", "/api/auth/resend-verification", "accounts.resend_verification", 202],
    ["POST", "/api/auth/request-reset", "accounts.request_reset", 202],
    ["POST", "/api/auth/reset-password", "accounts.reset_password", 200],
  ],
  Tenants: [
    ["GET", "/api/admin/tenants", "tenants.list", 200],
    ["POST", "/api/admin/tenants", "tenants.create", 201],
    ["GET", "/api/admin/tenants/{tenant_id}", "tenants.get", 200],
    ["PUT", "/api/admin/tenants/{tenant_id}", "tenants.update", 200],
    ["DELETE", "/api/admin/tenants/{tenant_id}", "tenants.remove", 204],
  ],
  Departments: [
    ["GET", "/api/admin/departments", "departments.list", 200],
    ["POST", "/api/admin/departments", "departments.create", 201],
    ["PUT", "/api/admin/departments/{dept_id}", "departments.update", 200],
    ["DELETE", "/api/admin/departments/{dept_id}", "departments.remove", 204],
  ],
  Audit: [
    ["GET", "/api/admin/audit", "audit.list", 200],
    ["GET", "/api/admin/audit/verify", "audit.verify", 200],
    ["GET", "/api/admin/audit/export", "audit.export", 200],
    ["GET", "/api/admin/audit/checkpoints", "audit.checkpoints", 200],
  ],
  Backups: [
    ["POST", "/api/admin/backup/create", "backups.create", 200],
    ["GET", "/api/admin/backup/list", "backups.list", 200],
    ["GET", "/api/admin/backup/download/{backup_id}", "backups.download", 200],
    ["POST", "/api/admin/backup/download-ticket/{backup_id}", "backups.make_ticket", 200],
    ["POST", "/api/admin/backup/restore", "backups.restore", 200],
    ["GET", "/api/admin/backup/status/{job_id}", "backups.status", 200],
    ["DELETE", "/api/admin/backup/{backup_id}", "backups.remove", 200],
    ["GET", "/api/backup-download/{ticket}", "backups.use_ticket", 200],
  ],
  Cache: [
    ["GET", "/api/admin/cache/stats", "cache.stats", 200],
    ["POST", "/api/admin/cache/cleanup", "cache.cleanup", 200],
    ["POST", "/api/admin/cache/invalidate", "cache.invalidate", 200],
    ["POST", "/api/admin/cache/warmup", "cache.warmup", 200],
  ],
  Encryption: [
    ["POST", "/api/admin/encryption/rotate", "crypto.rotate", 200],
    ["GET", "/api/admin/encryption/status", "crypto.status", 200],
  ],
  Payments: [
    ["POST", "/webhooks/card-provider", "payments.take_card", 200],
    ["POST", "/webhooks/wallet-provider", "payments.take_wallet", 200],
    ["GET", "/api/admin/payments", "payments.list", 200],
    ["GET", "/api/admin/payments/notifications", "payments.notifications", 200],
    ["GET", "/api/admin/payments/{payment_id}", "payments.get", 200],
  ],
  Webhooks: [
    ["GET", "/api/webhooks", "webhooks.list", 200],
    ["POST", "/api/webhooks/register", "webhooks.register", 201],
    ["GET", "/api/webhooks/event-types", "webhooks.event_types", 200],
    ["PUT", "/api/webhooks/{webhook_id}", "webhooks.update", 200],
    ["DELETE", "/api/webhooks/{webhook_id}", "webhooks.remove", 204],
    ["POST", "/api/webhooks/{webhook_id}/test", "webhooks.test", 200],
    ["GET", "/api/webhooks/{webhook_id}/deliveries", "webhooks.deliveries", 200],
    ["POST", "/api/webhooks/{webhook_id}/deliveries/{delivery_id}/resend", "webhooks.resend", 202],
    ["POST", "/api/webhooks/{webhook_id}/recover", "webhooks.recover", 202],
  ],
  Messenger: [
    ["POST", "/api/messenger/link", "messenger.link", 200],
    ["DELETE", "/api/messenger/link", "messenger.unlink", 200],
    ["GET", "/api/messenger/status", "messenger.status", 200],
    ["POST", "/api/messenger/subscribe", "messenger.subscribe", 200],
    ["POST", "/webhooks/telegram", "messenger.take_update", 200],
  ],
  Health: [["GET", "/api/admin/health", "health.report", 200]],
  "Self-healing": [
    ["GET", "/api/admin/self-healing/fixes", "self-healing.fixes", 200],
    ["POST", "/api/admin/self-healing/confirm/{fix_id}", "self-healing.confirm", 200],
    ["DELETE", "/api/admin/self-healing/fixes/{fix_id}", "self-healing.remove", 204],
    ["POST", "/api/admin/self-healing/seed-fixes", "self-healing.seed", 200],
    ["GET", "/api/admin/self-healing/stats", "self-healing.stats", 200],
    ["GET", "/api/admin/self-healing/incidents", "self-healing.incidents", 200],
    ["POST", "/api/admin/self-healing/look", "self-healing.look", 200],
  ],
};

export const routes: readonly Route[] = Object.entries(groups).flatMap(([group, rows]) =>
  rows.map(([method, path, action, status]) => ({ method, path, action, status, group })),
);

export function contractOf(route: Route): ActionContract {
  return contracts[route.action];
}

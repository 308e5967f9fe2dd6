// Who may do what, written down a second time from the decisions (section 2) and the interface, and on purpose not from
// the service's own tables: the walk holds the service against it.
import type { Kind, Role } from "./world.ts";

export const callers = [
  "anonymous",
  "expired",
  "blocked",
  "superadmin",
  "admin",
  "head_doctor",
  "doctor",
  "nurse",
  "registrar",
] as const;
export type CallerName = (typeof callers)[number];

export interface Expected {
  status: number;
  code?: string;
}

/** What an id in a request is for, which decides what a foreign one is answered. */
type Purpose =
  /** `tenant_id` of a list: whose rows are wanted. */
  | "listed tenant"
  /** `tenant_id` of something to be made. */
  | "tenant of the new"
  /** The thing itself, in the path. */
  | "target"
  /** Another thing that the new or changed one is to be tied to. */
  | "tie"
  /** The subdomain one registers with or chooses a department of. */
  | "subdomain to join"
  | "subdomain to sign in to"
  | "subdomain to mail to"
  /** A token from a mail. */
  | "mail token"
  /** What is to be forgotten: nothing tells whether it was there. */
  | "forgotten";

export interface Id {
  place: "path" | "query" | "body";
  name: string;
  of: "tenant" | "department" | "user" | "patient" | "webhook" | "subdomain" | "token";
  purpose: Purpose;
}

export interface Rule {
  who: "anyone" | "signed-in" | readonly Role[];
  success: number;
  ids: readonly Id[];
  /** Answer to a caller who may, for the platform itself. */
  platform?: Expected;
  /** A superadmin reaches no further than everybody else: the caller's own tenant. */
  ownTenantOnly?: boolean;
}

const superadmin: readonly Role[] = ["superadmin"];
const administrators: readonly Role[] = ["superadmin", "admin"];
const readers: readonly Role[] = ["superadmin", "admin", "head_doctor"];

const path = (name: string, of: Id["of"]): Id => ({ place: "path", name, of, purpose: "target" });
const listed: Id = { place: "query", name: "tenant_id", of: "tenant", purpose: "listed tenant" };
const tenantOfNew: Id = { place: "body", name: "tenant_id", of: "tenant", purpose: "tenant of the new" };
const department: Id = { place: "body", name: "department_id", of: "department", purpose: "tie" };
const headDoctor: Id = { place: "body", name: "head_doctor_id", of: "user", purpose: "tie" };
const subdomain = (place: "query" | "body", purpose: Purpose): Id => ({
  place,
  name: "subdomain",
  of: "subdomain",
  purpose,
});
const token = (place: "query" | "body"): Id => ({ place, name: "token", of: "token", purpose: "mail token" });

const rule = (who: Rule["who"], success: number, ...ids: Id[]): Rule => ({ who, success, ids });

/** The callers of the walk see all patients of their tenant; departments are proved in test/api/patients.test.ts. */
const ofPatients = (success: number, ...ids: Id[]): Rule => ({
  ...rule("signed-in", success, ...ids),
  ownTenantOnly: true,
});
const patient = path("patient_id", "patient");

/** Always of the caller's tenant, whoever administers. */
const ofWebhooks = (success: number, ...ids: Id[]): Rule => ({
  ...rule(administrators, success, ...ids),
  ownTenantOnly: true,
});
const webhook = path("webhook_id", "webhook");

export const rules: Readonly<Record<string, Rule>> = {
  "GET /api/auth/departments": rule("anyone", 200, subdomain("query", "subdomain to join")),
  "POST /api/auth/login": rule("anyone", 200, subdomain("body", "subdomain to sign in to")),
  "POST /api/auth/register": rule("anyone", 201, subdomain("body", "subdomain to join"), department),
  "POST /api/auth/request-reset": rule("anyone", 202, subdomain("body", "subdomain to mail to")),
  "POST /api/auth/resend-verification": rule("anyone", 202, subdomain("body", "subdomain to mail to")),
  "GET /api/auth/tenants": rule("anyone", 200),
  "POST /api/auth/verify-email": rule("anyone", 200, token("query")),
  "POST /api/auth/reset-password": rule("anyone", 200, token("body")),
  "POST /api/auth/logout": rule("signed-in", 204),
  "GET /api/auth/me": rule("signed-in", 200),
  "GET /api/users/me": rule("signed-in", 200),
  "GET /api/preferences": rule("signed-in", 200),
  "PUT /api/preferences": rule("signed-in", 200),
  "PUT /api/preferences/theme": rule("signed-in", 200),
  // The walk's process has no bot: whoever may link is told so.
  "POST /api/messenger/link": rule("signed-in", 409),
  "DELETE /api/messenger/link": rule("signed-in", 200),
  "GET /api/messenger/status": rule("signed-in", 200),
  "POST /api/messenger/subscribe": rule("signed-in", 409),
  "POST /webhooks/telegram": rule("anyone", 404),
  "GET /api/admin/tenants": rule(administrators, 200),
  "POST /api/admin/tenants": rule(superadmin, 201),
  "GET /api/admin/tenants/{tenant_id}": rule(administrators, 200, path("tenant_id", "tenant")),
  "PUT /api/admin/tenants/{tenant_id}": rule(administrators, 200, path("tenant_id", "tenant")),
  "DELETE /api/admin/tenants/{tenant_id}": {
    ...rule(superadmin, 204, path("tenant_id", "tenant")),
    platform: { status: 409, code: "platform_tenant" },
  },
  "GET /api/admin/departments": rule(readers, 200, listed),
  "POST /api/admin/departments": rule(administrators, 201, tenantOfNew, headDoctor),
  "PUT /api/admin/departments/{dept_id}": rule(
    administrators,
    200,
    path("dept_id", "department"),
    headDoctor,
  ),
  "DELETE /api/admin/departments/{dept_id}": rule(administrators, 204, path("dept_id", "department")),
  "GET /api/admin/users": rule(readers, 200, listed),
  "POST /api/admin/users": rule(administrators, 201, tenantOfNew, department),
  "DELETE /api/admin/users/{user_id}": rule(administrators, 204, path("user_id", "user")),
  "POST /api/admin/users/{user_id}/block": rule(administrators, 200, path("user_id", "user")),
  "POST /api/admin/users/{user_id}/unblock": rule(administrators, 200, path("user_id", "user")),
  "PUT /api/admin/users/{user_id}/role": rule(administrators, 200, path("user_id", "user")),
  "GET /api/admin/audit": rule(administrators, 200, listed),
  "GET /api/admin/audit/verify": rule(administrators, 200, listed),
  "GET /api/admin/audit/export": rule(administrators, 200, listed),
  "GET /api/admin/audit/checkpoints": rule(administrators, 200, listed),
  "GET /api/admin/health": rule(administrators, 200),
  "GET /api/admin/cache/stats": rule(administrators, 200),
  "POST /api/admin/cache/cleanup": rule(administrators, 200),
  "POST /api/admin/cache/invalidate": rule(administrators, 200, {
    ...patient,
    place: "body",
    purpose: "forgotten",
  }),
  "POST /api/admin/cache/warmup": rule(administrators, 200),
  // The walk sends a key that is none: whoever may rotate is told so. One rotation would refuse all others for a minute.
  "POST /api/admin/encryption/rotate": rule(superadmin, 422),
  "GET /api/admin/encryption/status": rule(superadmin, 200),
  // Of one tenant one job at a time is made, so the walk sends what names none: whoever may is told so. Whose backups and
  // jobs are whose, and that a foreign one is not there, stands in test/api/backups.
  "POST /api/admin/backup/create": rule(administrators, 422),
  "GET /api/admin/backup/list": rule(administrators, 200),
  "GET /api/admin/backup/download/{backup_id}": rule(administrators, 404),
  "POST /api/admin/backup/download-ticket/{backup_id}": rule(administrators, 404),
  "POST /api/admin/backup/restore": rule(administrators, 404),
  "GET /api/admin/backup/status/{job_id}": rule(administrators, 404),
  "DELETE /api/admin/backup/{backup_id}": rule(administrators, 404),
  "GET /api/backup-download/{ticket}": rule("anyone", 404),
  // Of the installation, so no id of it is a tenant's; the life of a fix stands in test/api/self-healing.
  "GET /api/admin/self-healing/fixes": rule(superadmin, 200),
  "POST /api/admin/self-healing/confirm/{fix_id}": rule(superadmin, 404),
  "DELETE /api/admin/self-healing/fixes/{fix_id}": rule(superadmin, 404),
  "POST /api/admin/self-healing/seed-fixes": rule(superadmin, 200),
  "GET /api/admin/self-healing/stats": rule(superadmin, 200),
  "GET /api/admin/self-healing/incidents": rule(superadmin, 200),
  "POST /api/admin/self-healing/look": rule(superadmin, 200),
  "GET /api/admin/payments": rule(administrators, 200, listed),
  "GET /api/admin/payments/notifications": rule(superadmin, 200),
  // The walk's world has no payments.
  "GET /api/admin/payments/{payment_id}": rule(superadmin, 404),
  // The walk's process has no secrets: anybody's notification is kept, and acts on nothing.
  "POST /webhooks/card-provider": rule("anyone", 200),
  "POST /webhooks/wallet-provider": rule("anyone", 200),
  "GET /api/webhooks": ofWebhooks(200),
  "GET /api/webhooks/event-types": ofWebhooks(200),
  "POST /api/webhooks/register": ofWebhooks(201),
  "PUT /api/webhooks/{webhook_id}": ofWebhooks(200, webhook),
  "DELETE /api/webhooks/{webhook_id}": ofWebhooks(204, webhook),
  "POST /api/webhooks/{webhook_id}/test": ofWebhooks(200, webhook),
  "GET /api/webhooks/{webhook_id}/deliveries": ofWebhooks(200, webhook),
  "POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/resend": ofWebhooks(202, webhook),
  "POST /api/webhooks/{webhook_id}/recover": ofWebhooks(202, webhook),
  "GET /api/patients": ofPatients(200),
  "POST /api/patients": ofPatients(201, department),
  "GET /api/patients/{patient_id}": ofPatients(200, patient),
  "PUT /api/patients/{patient_id}": ofPatients(200, patient, department),
  "DELETE /api/patients/{patient_id}": ofPatients(204, patient),
  "GET /api/patients/{patient_id}/records": ofPatients(200, patient),
  "POST /api/patients/{patient_id}/records": ofPatients(201, patient),
};

export function roleOf(caller: CallerName): Role | undefined {
  return caller === "anonymous" || caller === "expired" || caller === "blocked" ? undefined : caller;
}

/** @param id the id that names the tenant of `kind`; undefined: one that the operation does not know and ignores */
export function expected(
  { who, success, platform, ownTenantOnly = false }: Rule,
  caller: CallerName,
  kind: Kind,
  id?: Id,
): Expected {
  const role = roleOf(caller);
  if (who !== "anyone") {
    if (role === undefined) return { status: 401 };
    if (who !== "signed-in" && !who.includes(role)) return { status: 403, code: "forbidden" };
  }
  if (id === undefined) return { status: success };
  // Registering and the like is judged by the tenant alone, whatever token comes along.
  const isSuperadmin = who !== "anyone" && role === "superadmin";
  const above = isSuperadmin && !ownTenantOnly;
  const own = kind === "own" || (isSuperadmin && kind === "platform");
  if (above && own && id.purpose === "target" && platform !== undefined) return platform;
  return answer(id.purpose, kind, own, above, success);
}

function answer(purpose: Purpose, kind: Kind, own: boolean, above: boolean, success: number): Expected {
  const fine = { status: success };
  const gone = kind === "deleted" || kind === "never";
  switch (purpose) {
    case "listed tenant":
      return own || above ? fine : { status: 403, code: "foreign_tenant" };
    case "tenant of the new":
      if (!own && !above) return { status: 403, code: "foreign_tenant" };
      return gone ? { status: 422 } : fine;
    case "target":
      return own || (above && !gone) ? fine : { status: 404, code: "not_found" };
    case "tie":
      return own ? fine : { status: 422 };
    case "subdomain to join":
      return own || kind === "other" ? fine : { status: 404, code: "not_found" };
    case "subdomain to sign in to":
      return gone || kind === "inactive" ? { status: 401, code: "invalid_credentials" } : fine;
    case "subdomain to mail to":
    case "forgotten":
      return fine;
    case "mail token":
      return gone || kind === "inactive" ? { status: 400, code: "invalid_token" } : fine;
  }
}

// Declares the database rights of a service. Provisioning grants each login the rights of its services and revokes all others. A
// test compares these declarations with the catalogue, and finds tables that none of them names.
import type { EventKind } from "../../../services/shared/event-kinds.ts";

/**
 * By table, view, sequence or function: privileges in the words of GRANT, "select (id, name), insert". Columns are named if not
 * all are needed, or if others must stay protected.
 */
export type Privileges = Readonly<Record<string, string>>;

export interface ServiceRights {
  /** On the rows of one tenant, and on objects without tenants. */
  readonly tenant: Privileges;
  /** On the rows of all tenants, in the platform scope. Absent: the service never uses that scope. */
  readonly platform?: Privileges;
  /** A role for a part of its work, `<login>_<suffix>`, with its rights on the rows of one tenant. */
  readonly assumes?: { readonly suffix: string; readonly privileges: Privileges };
  /** Resources (of "resource.verb") for which it writes audit entries. */
  readonly audits: readonly string[];
  /** It writes audit entries of refusals for any action, and of repeated failures. */
  readonly refuses?: true;
  /** Kinds of events that it publishes. */
  readonly publishes?: readonly EventKind[];
  /** Tasks of other services that it may enqueue. Its own, `<service>.…`, are always allowed. */
  readonly enqueues?: readonly string[];
}

/** The columns that a writer of the log fills in; triggers fill in the rest. */
export const record =
  "insert (tenant_id, user_id, action, target_type, target_id, outcome, changes, ip, user_agent, request_id)";
export const publish = "insert (tenant_id, kind, payload, trace)";
/** To lock a row needs the right to update one of its columns; this column has no meaning. */
export const lock = "update (updated_at)";

/**
 * For every login, in both scopes: the tenants, its own rights, and whether the session of a change is still alive
 * (live-session.ts).
 */
export const everyLogin: Privileges = {
  public: "usage",
  tenants: "select (id, subdomain, is_active, deleted_at, session_epoch)",
  users: "select (id, tenant_id, role, is_active, deleted_at, session_epoch)",
  sessions: "select (id, tenant_id, user_id, user_epoch, tenant_epoch, ended_at, expires_at)",
  database_logins: "select",
  // Whether a restore has frozen the tenant; the triggers that block writers read it too.
  tenant_freezes: "select (tenant_id, until)",
};

/** For every login, in the tenant scope: the version of the schema. */
export const atStart: Privileges = { mikro_orm_migrations: "select", schema_compatibility: "select" };

/** The counters of rate-limiter-flexible. */
export const rates: Privileges = { rate_limits: "select, insert, update, delete" };

/** To enqueue jobs, in either scope. */
export const addJobs: Privileges = { add_task: "execute" };

/** To count daily limits of a tenant. Requires the resource "limit" in `audits`. */
export const limits: Privileges = { daily_counts: "select, insert, update" };

/** To count repeated refusals. To count a member's entries also needs `rates`. */
export const refusals: Privileges = { ...limits, audit_repeats: "select, insert, update" };

/** To run jobs: the statements of graphile-worker. Its policies show a login only the jobs of its services' tasks. */
export const runJobs: Privileges = {
  add_due_task: "execute",
  graphile_worker: "usage",
  "graphile_worker._private_jobs":
    "select, update (attempts, last_error, locked_at, locked_by, payload, run_at), delete",
  "graphile_worker._private_tasks": "select, insert (identifier)",
  "graphile_worker._private_job_queues": "select, update (locked_at, locked_by)",
  "graphile_worker._private_known_crontabs": "select",
  "graphile_worker.migrations": "select",
};

// What a service may do in the database, declared. Provisioning grants each login what its services declare and takes away
// whatever else it has; a test compares the catalogue with these declarations, and finds tables that stand in none.
import type { EventKind } from "../../../services/shared/event-kinds.ts";

/**
 * By table, view, sequence or function: privileges in the words of GRANT, "select (id, name), insert". Columns are named
 * where not all are needed, or where somebody else has a use for the others.
 */
export type Privileges = Readonly<Record<string, string>>;

export interface ServiceRights {
  /** On the rows of one tenant, and on what belongs to none. */
  readonly tenant: Privileges;
  /** On the rows of all tenants, in the platform's scope. Absent: no operation of the service works there. */
  readonly platform?: Privileges;
  /** A role that it takes up for some of its work, `<login>_<suffix>`, and what that may on the rows of one tenant. */
  readonly takesUp?: { readonly suffix: string; readonly privileges: Privileges };
  /** Resources (of "resource.verb") whose entries it writes into the audit log. */
  readonly audits: readonly string[];
  /** It records refusals of any action, and what failed again and again. */
  readonly refuses?: true;
  /** Events that it tells of. */
  readonly tells?: readonly EventKind[];
  /** Tasks of other services that it adds. Its own, `<service>.…`, it always may. */
  readonly enqueues?: readonly string[];
}

/** The columns that a writer of the log fills in; the rest is the chain's. */
export const record =
  "insert (tenant_id, user_id, action, target_type, target_id, outcome, changes, ip, user_agent, request_id)";
export const tell = "insert (tenant_id, kind, payload, trace)";
/** Locking a row takes the right to change a column of it: this one says nothing and decides nothing. */
export const lock = "update (updated_at)";

/**
 * Of every login, in both scopes: which tenants there are, what it may do itself, and whether the session by which a change
 * is made still lives (live-session.ts).
 */
export const everyLogin: Privileges = {
  public: "usage",
  tenants: "select (id, subdomain, is_active, deleted_at, session_epoch)",
  users: "select (id, tenant_id, role, is_active, deleted_at, session_epoch)",
  sessions: "select (id, tenant_id, user_id, user_epoch, tenant_epoch, ended_at, expires_at)",
  database_logins: "select",
  // Whether a restore holds the tenant; the triggers that keep writers away ask it too.
  tenant_freezes: "select (tenant_id, until)",
};

/** Of every login, in its tenants' scope: whether the schema is its program's. */
export const atStart: Privileges = { mikro_orm_migrations: "select", schema_compatibility: "select" };

/** For the counters of rate-limiter-flexible. */
export const rates: Privileges = { rate_limits: "select, insert, update, delete" };

/** For whoever adds jobs, in either scope. */
export const addJobs: Privileges = { add_task: "execute" };

/** For whoever counts what a tenant has of something a day; with it goes the resource "limit" in `audits`. */
export const limits: Privileges = { daily_counts: "select, insert, update" };

/** For whoever counts refusals that repeat; who counts a member's entries of them needs `rates` besides. */
export const refusals: Privileges = { ...limits, audit_repeats: "select, insert, update" };

/** For whoever runs jobs: graphile-worker's own statements. Its policies show a login the jobs of its services' tasks. */
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

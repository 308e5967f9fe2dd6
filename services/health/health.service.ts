// The health report for administrators. Liveness and readiness of a process are served on HEALTH_PORT
// instead, so that they work when nothing else answers.
import type { ServiceSchema } from "moleculer";
import { database } from "../../mixins/database.ts";
import { type Call, implement } from "../shared/bus/bus.ts";
import { platform, type Scope } from "../shared/database/scope.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { administeredScope } from "../shared/administered-scope.ts";
import { version } from "../shared/version.ts";
import { toIso } from "../shared/wire.ts";
import { healthContract } from "./health.contract.ts";
import { logLevels } from "./log-levels.ts";
import type { RowOf } from "../shared/database/row.ts";

type Report = ValueOf<(typeof healthContract)["health.report"]["result"]>;

const checkMsMax = 2_000;

interface Counts {
  tenants: number;
  users: number;
  departments: number;
  patients: number;
  webhooks: number;
  pending: number;
  failed: number;
  backups: number;
  last_backup: string | null;
  last_tested: string | null;
  incidents: number;
}

interface AuditProof {
  ok: boolean | null;
  proved: string | null;
  signed: string | null;
}

const auditProof = {
  name: "health.audit",
  text: `select bool_and(first_bad_seq is null) as ok, max(signed_at) as signed,
      case when bool_and(proved_at is not null) then min(proved_at) end as proved from audit_proofs`,
  values: [],
};

function readCounts(call: Call<unknown>, scope: Scope): Promise<Counts | undefined> {
  return call.db.readOne<Counts>(scope, {
    name: scope === "platform" ? "health.counts_all" : "health.counts_own",
    text: `select (select count(*)::integer from tenants where deleted_at is null) as tenants,
      (select coalesce(sum(users), 0)::integer from user_counts
        where tenant_id in (select id from tenants where deleted_at is null)) as users,
      (select count(*)::integer from departments
        where tenant_id in (select id from tenants where deleted_at is null)) as departments,
      (select count(*)::integer from patients where deleted_at is null
        and tenant_id in (select id from tenants where deleted_at is null)) as patients,
      (select count(*)::integer from delivery_targets where channel = 'webhook' and deleted_at is null
        and tenant_id in (select id from tenants where deleted_at is null)) as webhooks,
      (select count(*)::integer from deliveries where state = 'pending') as pending,
      (select count(*)::integer from deliveries where state = 'failed') as failed,
      (select count(*)::integer from daily_counts where taken > bound
        and day >= (now() at time zone 'utc')::date - 1)
        + (select count(*)::integer from incidents where ended_at is null) as incidents,
      b.* from (select count(*)::integer as backups, max(created_at) as last_backup,
        max(tested_at) filter (where test_passed) as last_tested from backups where state = 'complete') b`,
    values: [],
  });
}

async function report(call: Call<unknown>): Promise<Report> {
  const scope = administeredScope(call.caller);
  const counts = await readCounts(call, scope);
  // The version of the master key belongs to the installation and is not secret, so every tenant's
  // administrator may see it.
  const key = await call.db.readOne<RowOf<"master_keys", "version", { rotation: Report["rotation"] }>>(
    platform,
    {
      name: "health.key_version",
      text: `select m.version, (select json_build_object('status', r.state, 'rows_total', r.rows_total,
        'rows_done', r.rows_done) from rotations r order by id desc limit 1) as rotation
      from master_keys m where m.state = 'primary'`,
      values: [],
    },
  );
  const audit = await call.db.readOne<AuditProof>(scope, auditProof);
  const [postgres, objectStore, mail, messenger] = await Promise.all([
    check(() => call.db.pool.query("select 1")),
    check(() => call.bus("backups.check", {})),
    check(async () => {
      if (!(await call.bus("mail.check", {})).ok) throw new Error("no mail");
    }),
    stateWithin(call.bus("messenger.check", {}).then(({ state }) => state)),
  ]);
  const checks = { postgres, bus: call.busState(), object_store: objectStore, mail, messenger };
  return {
    status: Object.values(checks).every((state) => state !== "down") ? "ok" : "degraded",
    tenant_mode: call.runtime.config.tenantMode === "multi",
    encryption_enabled: key !== undefined,
    tenants_count: counts?.tenants ?? 0,
    users_count: counts?.users ?? 0,
    departments_count: counts?.departments ?? 0,
    patients_count: counts?.patients ?? 0,
    webhooks_count: counts?.webhooks ?? 0,
    pending_deliveries: counts?.pending ?? 0,
    failed_deliveries: counts?.failed ?? 0,
    backups_count: counts?.backups ?? 0,
    last_backup_at: isoOrNull(counts?.last_backup),
    last_verified_restore_at: isoOrNull(counts?.last_tested),
    open_incidents: counts?.incidents ?? 0,
    key_version: key?.version ?? null,
    rotation: key?.rotation ?? null,
    audit_ok: audit?.ok ?? null,
    audit_proved_at: isoOrNull(audit?.proved),
    audit_checkpoint_at: isoOrNull(audit?.signed),
    version,
    uptime_s: Math.floor(process.uptime()),
    checks,
  };
}

const isoOrNull = (text: string | null | undefined) => (text == null ? null : toIso(text));

function check(probe: () => Promise<unknown>): Promise<"ok" | "down"> {
  return stateWithin(probe().then(() => "ok" as const));
}

/** The answer, or "down" when the call fails or exceeds `checkMsMax`. */
async function stateWithin<S extends string>(asked: Promise<S>): Promise<S | "down"> {
  const late = AbortSignal.timeout(checkMsMax);
  const expired = new Promise<"down">((resolve) =>
    late.addEventListener("abort", () => resolve("down"), { once: true }),
  );
  return Promise.race([asked.catch(() => "down" as const), expired]);
}

const health: ServiceSchema = {
  name: "health",
  mixins: [database()],
  actions: implement(healthContract, { "health.report": report, "health.log_levels": logLevels }),
};

export default health;

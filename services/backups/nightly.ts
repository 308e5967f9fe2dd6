// Scheduled jobs: nightly backups of everything and of each tenant, the weekly test restore of the newest
// one, and a check for missing backups.
import { randomUUID } from "node:crypto";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { violatedConstraint } from "../shared/failures.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { newBackupId } from "./begin-backup.ts";
import { insertJob, type NewJob, system } from "./job-store.ts";
import { notifyOperators } from "./notify-operators.ts";
import { auditTenantOf } from "./audit-tenant.ts";
import type { RowOf } from "../shared/database/row.ts";

type WithRuntime = { runtime: Runtime };

const tenantsMax = 100_000;
/** A retried occurrence of the schedule starts nothing twice. */
const sameNight = "created_at > now() - interval '10 minutes'";
const byClock = { createdBy: null, operator: null } as const;

/** The job `backups.nightly`. */
export async function startNightlyBackups(this: WithRuntime): Promise<void> {
  const { database } = this.runtime;
  const tenants = await database.read<RowOf<"tenants", "id">>(platform, {
    name: "backups.nightly_tenants",
    text: `select id from tenants t where deleted_at is null and is_active and not exists (select from backup_jobs j
      where j.tenant_id = t.id and j.reason = 'nightly' and ${sameNight}) order by id limit ${tenantsMax}`,
    values: [],
  });
  const full = await database.read(platform, {
    name: "backups.nightly_full",
    text: `select from backup_jobs where tenant_id is null and reason = 'nightly' and kind = 'backup' and ${sameNight} limit 1`,
    values: [],
  });
  const scopes = [...(full.length === 0 ? [null] : []), ...tenants.map(({ id }) => id)];
  for (const tenantId of scopes) {
    const type = tenantId === null ? "full" : "tenant";
    const job: NewJob = {
      ...byClock,
      id: randomUUID(),
      kind: "backup",
      type,
      tenantId,
      backupId: newBackupId(),
      reason: "nightly",
    };
    // If a requested backup or restore is running for the tenant, tonight's backup is skipped.
    await beginUnlessBusy(this.runtime, job);
  }
}

async function beginUnlessBusy({ database }: Runtime, job: NewJob): Promise<void> {
  try {
    await database.change(platform, system, (change) => insertJob(change, job));
  } catch (error) {
    if (violatedConstraint(error)?.startsWith("backup_jobs_one_") !== true) throw error;
  }
}

type Newest = RowOf<"backups", "id" | "type" | "tenant_id">;

/** The job `backups.prove`. Prefers a full backup, because it contains all tables. */
export async function proveNewest(this: WithRuntime): Promise<void> {
  const { database } = this.runtime;
  const newest = await database.readOne<Newest>(platform, {
    name: "backups.newest",
    text: `select id, type, tenant_id from backups where state = 'complete'
      order by (type = 'full') desc, created_at desc, id limit 1`,
    values: [],
  });
  if (newest === undefined) return;
  await beginUnlessBusy(this.runtime, {
    ...byClock,
    id: randomUUID(),
    kind: "test",
    type: newest.type,
    tenantId: newest.tenant_id,
    backupId: newest.id,
    reason: "nightly",
  });
}

/** The job `backups.watch`. Notifies the operators at most once a day; an audit entry records it. */
export async function notifyIfMissing(this: WithRuntime): Promise<void> {
  const { database, config } = this.runtime;
  if (config.backupCron === undefined) return;
  await database.change(platform, system, async (change) => {
    const tenantId = await auditTenantOf(change, null);
    if (tenantId === undefined || !(await isMissing(change, config.backupAgeMaxHours))) return;
    const [told] = await change.execute(
      `select from audit_entries where tenant_id = $1 and action = 'backup.missing'
         and created_at > now() - interval '20 hours' limit 1`,
      [tenantId],
    );
    if (told !== undefined) return;
    await notifyOperators(change, "backup_missing", "backup_missing");
    change.audit({ tenantId, action: "backup.missing", outcome: "error" });
  });
}

/** An installation younger than that has missed nothing yet. */
async function isMissing(change: PlainChange, hours: number): Promise<boolean> {
  const row = await change.one<{ missing: boolean }>(
    `select coalesce((select max(created_at) from backups where type = 'full' and state = 'complete'),
       (select min(created_at) from tenants)) < now() - make_interval(hours => $1) as missing`,
    [hours],
  );
  return row.missing;
}

// What the clock begins: backups of everything and of each tenant by night, the weekly proof of the newest one, and a look
// whether the nights were missed.
import { randomUUID } from "node:crypto";
import type { PlainChange } from "../shared/database/change.ts";
import { platform } from "../shared/database/scope.ts";
import { violatedConstraint } from "../shared/failures.ts";
import type { Runtime } from "../../host/process/runtime.ts";
import { newBackupId } from "./begin-backup.ts";
import { insertJob, type NewJob, system } from "./job-store.ts";
import { tellOperators } from "./notify-operators.ts";
import { whoseLog } from "./whose-log.ts";
import type { RowOf } from "../shared/database/row.ts";

type WithRuntime = { runtime: Runtime };

const tenantsMax = 100_000;
/** The job of an occurrence that is tried again begins nothing twice. */
const sameNight = "created_at > now() - interval '10 minutes'";
const byClock = { createdBy: null, operator: null } as const;

export async function backUpByNight(this: WithRuntime): Promise<void> {
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
    // Somebody's own backup or restore is under way there: of tonight that has to do.
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

/** A full one if there is any: it holds all tables. */
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

/** At most once a day: an entry in the log says that it was told. */
export async function tellIfMissing(this: WithRuntime): Promise<void> {
  const { database, config } = this.runtime;
  if (config.backupCron === undefined) return;
  await database.change(platform, system, async (change) => {
    const tenantId = await whoseLog(change, null);
    if (tenantId === undefined || !(await isMissing(change, config.backupAgeMaxHours))) return;
    const [told] = await change.execute(
      `select from audit_entries where tenant_id = $1 and action = 'backup.missing'
         and created_at > now() - interval '20 hours' limit 1`,
      [tenantId],
    );
    if (told !== undefined) return;
    await tellOperators(change, "backup_missing", "backup_missing");
    change.audit({ tenantId, action: "backup.missing", outcome: "error" });
  });
}

/** An installation that is younger than that has missed nothing yet. */
async function isMissing(change: PlainChange, hours: number): Promise<boolean> {
  const row = await change.one<{ missing: boolean }>(
    `select coalesce((select max(created_at) from backups where type = 'full' and state = 'complete'),
       (select min(created_at) from tenants)) < now() - make_interval(hours => $1) as missing`,
    [hours],
  );
  return row.missing;
}

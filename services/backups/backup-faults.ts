// Detects a missing or too old full backup, an overdue test restore, and a freeze that was left behind.
import { randomUUID } from "node:crypto";
import type { FaultCode } from "../../mixins/healing/catalogue.ts";
import { platform } from "../shared/database/scope.ts";
import type { FoundFaults, Remedy, DetectorCall } from "../../mixins/healing/port.ts";
import { numberIn } from "../../mixins/healing/targets.ts";
import { newBackupId } from "./begin-backup.ts";
import { underWay } from "./job.rules.ts";
import { insertJob, type NewJob, system } from "./job-store.ts";
import type { RowOf } from "../shared/database/row.ts";

/** The test restore runs weekly. */
const proofDaysMax = 9;
/** Age of a freeze that was not renewed. The sweep deletes it after an hour. */
const freezeMinutes = 10;
const everything = "everything";

interface Age {
  hours: number;
  under_way: boolean;
}

async function findOverdue(site: DetectorCall, text: string, hoursMax: number): Promise<FoundFaults> {
  if (site.runtime.config.backupCron === undefined) return { found: [] };
  const row = await site.db.readOne<Age>(platform, { text, values: [underWay] });
  if (row === undefined || row.under_way || row.hours < hoursMax) return { found: [] };
  const evidence = { hours: Math.floor(row.hours), hours_max: hoursMax };
  return { found: [{ target: everything, tenantId: null, evidence }] };
}

const jobIsUnderWay = (kind: string) =>
  `exists (select from backup_jobs where kind = '${kind}' and tenant_id is null and status = any($1))`;
const newestFull = "(select max(created_at) from backups where type = 'full' and state = 'complete')";
const hoursSince = (moment: string) => `extract(epoch from now() - ${moment})::float8 / 3600`;

/** Healing starts a full backup. */
const backupOverdue: Remedy = {
  find: (site) =>
    findOverdue(
      site,
      `select ${hoursSince(`coalesce(${newestFull}, (select min(created_at) from tenants))`)} as hours,
         ${jobIsUnderWay("backup")} as under_way`,
      site.runtime.config.backupAgeMaxHours,
    ),
  wouldDo: ({ evidence }) =>
    `Would begin a full backup: the newest is ${String(evidence["hours"])} h old, more than ${String(evidence["hours_max"])}.`,
  async heal({ db }) {
    const job: NewJob = {
      id: randomUUID(),
      kind: "backup",
      type: "full",
      tenantId: null,
      backupId: newBackupId(),
      reason: "nightly",
      createdBy: null,
      operator: null,
    };
    await db.change(platform, system, (change) => insertJob(change, job));
    return { job_id: job.id, backup_id: job.backupId };
  },
};

/** Healing starts a test restore. */
const proofOverdue: Remedy = {
  find: (site) =>
    findOverdue(
      site,
      `select coalesce(${hoursSince(`(select coalesce(max(tested_at) filter (where test_passed), min(created_at))
           from backups where type = 'full' and state = 'complete')`)}, 0) as hours, ${jobIsUnderWay("test")} as under_way`,
      proofDaysMax * 24,
    ),
  wouldDo: ({ evidence }) =>
    `Would restore the newest full backup into a scratch schema: the last proof is ${String(evidence["hours"])} h old.`,
  async heal({ db }) {
    await db.change(platform, system, (change) =>
      change.enqueue("backups.prove", {}, { key: "backups.prove:healing" }),
    );
    return { begun: "backups.prove" };
  },
};

/** Its target is `tenant:<id>`. */
const freezeLeftBehind: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : (numberIn("tenant", target) ?? 0);
    const rows = await site.db.read<RowOf<"tenant_freezes", "tenant_id", { seconds: number }>>(platform, {
      name: "backups.freezes_left",
      text: `select f.tenant_id, extract(epoch from now() - f.until)::integer as seconds from tenant_freezes f
        where f.until < now() - interval '${freezeMinutes} minutes' and ($2::integer is null or f.tenant_id = $2)
          and not exists (select from backup_jobs j where j.id = f.job_id and j.status = any($1) and j.leased_until > now())
        order by 1 limit 100`,
      values: [underWay, one],
    });
    return {
      found: rows.map(({ tenant_id: tenantId, seconds }) => ({
        target: `tenant:${tenantId}`,
        tenantId,
        evidence: { lapsed_for_seconds: seconds },
      })),
    };
  },
  wouldDo: ({ evidence }) =>
    `Would delete the mark of a restore that let go ${String(evidence["lapsed_for_seconds"])} s ago.`,
  async heal({ db }, target) {
    const gone = await db.write(platform, system, {
      name: "backups.thaw_left",
      text: `delete from tenant_freezes where tenant_id = $1 and until < now() - interval '${freezeMinutes} minutes'
        returning tenant_id`,
      values: [numberIn("tenant", target) ?? 0],
    });
    return { deleted: gone.length };
  },
};

/** Typed here, so that only faults of the catalogue can be listed. */
export const backupFaults = {
  backup_overdue: backupOverdue,
  proof_overdue: proofOverdue,
  freeze_left_behind: freezeLeftBehind,
} satisfies Partial<Record<FaultCode, Remedy>>;

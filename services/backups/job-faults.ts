// Detects backup jobs that are neither leased by a worker nor in the queue.
import { platform } from "../shared/database/scope.ts";
import { keysInQueue } from "../../mixins/healing/job-faults.ts";
import type { Remedy } from "../../mixins/healing/port.ts";
import { textIn } from "../../mixins/healing/targets.ts";
import { underWay } from "./job.rules.ts";
import { system } from "./job-store.ts";
import type { RowOf } from "../shared/database/row.ts";

const silentSeconds = 120;
const foundMax = 100;
const isUuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

type Row = RowOf<"backup_jobs", "id" | "tenant_id" | "kind" | "status" | "tries", { seconds: number }>;

/** The remedy `backup_job_abandoned`: its target is `backup_job:<id>`; healing enqueues the job again. */
export const backupJobAbandoned: Remedy = {
  async find(site, { target }) {
    const one = target === undefined ? null : (textIn("backup_job", target) ?? "");
    if (one !== null && !isUuid.test(one)) return { found: [] };
    const rows = await site.db.read<Row>(platform, {
      name: "backups.silent_jobs",
      text: `select id, tenant_id, kind, status, tries,
          extract(epoch from now() - coalesce(leased_until, created_at))::integer as seconds
        from backup_jobs where status = any($1) and ($2::uuid is null or id = $2)
          and coalesce(leased_until, created_at) < now() - interval '${silentSeconds} seconds'
        order by created_at limit ${foundMax}`,
      values: [underWay, one],
    });
    const queued = await keysInQueue(site, "backups.run");
    const found = rows.filter(({ id }) => !queued.has(`backups.run:${id}`));
    return {
      found: found.map(({ id, tenant_id: tenantId, kind, status, tries, seconds }) => ({
        target: `backup_job:${id}`,
        tenantId,
        evidence: { kind, status, tries, seconds },
      })),
    };
  },
  wouldDo: ({ evidence }) =>
    `Would give the ${String(evidence["kind"])} job, silent for ${String(evidence["seconds"])} s, to the queue again.`,
  async heal(site, target) {
    const id = textIn("backup_job", target) ?? "";
    if (!isUuid.test(id)) return { given_back: 0 };
    await site.db.change(platform, system, (change) =>
      change.enqueue("backups.run", { job_id: id }, { key: `backups.run:${id}` }),
    );
    return { given_back: 1 };
  },
};

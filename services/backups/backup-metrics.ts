// Metrics of the newest full backup, the last test restore, and the last job of each kind.
import { platform } from "../shared/database/scope.ts";
import { type MetricSample, known } from "../shared/cached-samples.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const gauges = {
  records_backup_timestamp_seconds: { help: "When the newest full backup was made, since 1970" },
  records_backup_size_bytes: { help: "Size of the newest full backup" },
  records_backup_rows: { help: "Rows in the newest full backup" },
  records_backup_proof_timestamp_seconds: {
    help: "When a backup was last restored into a scratch schema and found right, since 1970",
  },
  records_backup_job_ok: {
    help: "Whether the last job that ended did so well, by kind (backup, restore, test)",
    labels: ["kind"],
  },
  records_backup_jobs_running: { help: "Jobs of backups that wait or run" },
  records_backups_scheduled: { help: "1 where BACKUP_CRON has full backups made, else 0" },
} as const;

type Name = keyof typeof gauges;

interface Row {
  made: number | null;
  size: number | null;
  rows: number | null;
  proved: number | null;
  running: number;
  jobs: { kind: string; ok: boolean }[] | null;
}

const text = `select n.made, n.size, n.rows,
    (select extract(epoch from max(tested_at))::float8 from backups where test_passed) as proved,
    (select count(*)::integer from backup_jobs where status in ('queued', 'running', 'verifying')) as running,
    (select json_agg(json_build_object('kind', k.kind, 'ok', j.status = 'succeeded'))
      from unnest(array['backup', 'restore', 'test']) k (kind)
        cross join lateral (select status from backup_jobs b where b.kind = k.kind and b.finished_at is not null
          order by b.created_at desc limit 1) j) as jobs
  from (select) one left join lateral (select extract(epoch from created_at)::float8 as made, size_bytes::float8 as size,
      rows::float8 as rows from backups where tenant_id is null and state = 'complete'
    order by created_at desc limit 1) n on true`;

async function read({ database: db, config }: Runtime): Promise<MetricSample<Name>[]> {
  const row = await db.readOne<Row>(platform, { name: "backups.figures", text, values: [] });
  return [
    ...known("records_backup_timestamp_seconds", row?.made),
    ...known("records_backup_size_bytes", row?.size),
    ...known("records_backup_rows", row?.rows),
    ...known("records_backup_proof_timestamp_seconds", row?.proved),
    ...known("records_backup_jobs_running", row?.running),
    ...known("records_backups_scheduled", config.backupCron === undefined ? 0 : 1),
    ...(row?.jobs ?? []).map(
      ({ kind, ok }): MetricSample<Name> => ({
        name: "records_backup_job_ok",
        labels: { kind },
        value: ok ? 1 : 0,
      }),
    ),
  ];
}

/** Registers the metrics, which are read from the database when they are collected. */
export function watchBackups(runtime: Runtime): void {
  runtime.metrics?.sample("backups", gauges, () => read(runtime));
}

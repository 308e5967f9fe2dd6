// Metrics of the last rotation and of the master key's age.
import { platform } from "../shared/database/scope.ts";
import { type MetricSample, known } from "../shared/cached-samples.ts";
import type { Runtime } from "../../host/process/runtime.ts";

const gauges = {
  records_rotation_running: { help: "1 while a rotation of the key runs, else 0" },
  records_rotation_progress_ratio: { help: "How much of the last rotation is done, 0 to 1" },
  records_rotation_start_timestamp_seconds: { help: "When the last rotation began, since 1970" },
  records_master_key_timestamp_seconds: { help: "When the master key in use was made, since 1970" },
  records_quarantined_fields: { help: "Sealed fields that the last rotation could not open" },
} as const;

type Name = keyof typeof gauges;

interface Row {
  made: number;
  running: number | null;
  progress: number | null;
  started: number | null;
  quarantined: number;
}

const text = `select extract(epoch from m.created_at)::float8 as made, (r.state = 'running')::integer as running,
    case when r.state = 'finished' then 1 else least(1, r.rows_done::float8 / greatest(r.rows_total, 1)) end as progress,
    extract(epoch from r.started_at)::float8 as started,
    (select count(*)::integer from (select from quarantined_fields limit 10000) q) as quarantined
  from master_keys m left join lateral (select * from rotations order by id desc limit 1) r on true
  where m.state = 'primary'`;

async function read({ database: db }: Runtime): Promise<MetricSample<Name>[]> {
  const row = await db.readOne<Row>(platform, { name: "crypto.figures", text, values: [] });
  if (row === undefined) return [];
  return [
    ...known("records_rotation_running", row.running ?? 0),
    ...known("records_rotation_progress_ratio", row.running === null ? undefined : row.progress),
    ...known("records_rotation_start_timestamp_seconds", row.started),
    ...known("records_master_key_timestamp_seconds", row.made),
    ...known("records_quarantined_fields", row.quarantined),
  ];
}

/** Registers the metrics, which are read from the database when they are collected. */
export function watchRotation(runtime: Runtime): void {
  runtime.metrics?.sample("rotation", gauges, () => read(runtime));
}

// Lists backups, and answers the status of jobs.
import type { Call } from "../shared/bus/bus.ts";
import { NotFound } from "../shared/errors.ts";
import type { ValueOf } from "../shared/params/types.ts";
import { administeredScope } from "../shared/administered-scope.ts";
import { toIso } from "../shared/wire.ts";
import { type Backup, backupColumns, type BackupRow, toBackup } from "./backup-row.ts";
import type { jobShape } from "./backups.contract.ts";
import type { RowOf } from "../shared/database/row.ts";

type Job = ValueOf<typeof jobShape>;

/** Far more than the retention, safety backups and manual backups together. */
const listedMax = 1_000;

/** The backups within the caller's scope, newest first. */
export async function listBackups(call: Call<unknown>): Promise<{ items: Backup[]; total: number }> {
  const rows = await call.db.read<BackupRow & { total: number }>(administeredScope(call.caller), {
    name: "backups.list",
    text: `select ${backupColumns}, count(*) over ()::integer as total from backups where state = 'complete'
      order by created_at desc, id limit ${listedMax}`,
    values: [],
  });
  return { items: rows.map(toBackup), total: rows[0]?.total ?? 0 };
}

type Row = RowOf<
  "backup_jobs",
  | "id"
  | "kind"
  | "type"
  | "backup_id"
  | "status"
  | "step"
  | "percent"
  | "rows_done"
  | "bytes_done"
  | "error"
  | "error_code"
  | "safety_backup_id"
  | "created_at"
  | "started_at"
  | "finished_at"
>;

const isUuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const moment = (text: string | null) => (text === null ? null : toIso(text));

/** @throws NotFound */
export async function jobStatus(call: Call<{ job_id: string }>): Promise<Job> {
  const { job_id: id } = call.params;
  if (!isUuid.test(id)) throw new NotFound("Job");
  const row = await call.db.readOne<Row>(administeredScope(call.caller), {
    name: "backups.job_status",
    text: `select id, kind, type, backup_id, status, step, percent, rows_done, bytes_done, error, error_code,
        safety_backup_id, created_at, started_at, finished_at from backup_jobs where id = $1::uuid`,
    values: [id],
  });
  if (row === undefined) throw new NotFound("Job");
  return {
    job_id: row.id,
    kind: row.kind,
    type: row.type,
    backup_id: row.backup_id,
    status: row.status,
    step: row.step,
    percent: row.percent,
    rows_done: Number(row.rows_done),
    bytes_done: Number(row.bytes_done),
    error: row.error,
    created_at: toIso(row.created_at),
    started_at: moment(row.started_at),
    finished_at: moment(row.finished_at),
    error_code: row.error_code,
    safety_backup_id: row.safety_backup_id,
  };
}
